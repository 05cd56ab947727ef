/** Client commands that a signal ends while their tokens are being refreshed. */
import { openCredentialStore } from '@portcullis/client/node';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { createWorld, grant } from '../../client/test/support/world.ts';
import { type Computer, createComputer, followRedirects } from './support/command.ts';

let computer: Computer;
/** Exit codes of the process. */
let exits: unknown[];

beforeEach(() => {
  computer = createComputer(followRedirects);
  exits = [];
  const { exitCode } = process;
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    exits.push(code ?? process.exitCode);
    // Nothing follows an exit.
    if (code !== undefined) throw new Error(`exit ${code}`);
    return undefined as never;
  });
  onTestFinished(() => {
    exit.mockRestore();
    process.exitCode = exitCode;
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
    computer.close();
  });
});

/** Runs a call whose refresh the authorization server responds to when `respond` is called. */
async function callDuringRefresh() {
  const world = await createWorld();
  await computer.run(['login', world.serverUrl]);
  world.tokens.clear();
  const [requested, response] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  world.as.on('POST /token', async () => {
    requested.resolve();
    await response.promise;
    return grant(world, {}, '');
  });
  void computer.run(['call', world.serverUrl, 'any']);
  await requested.promise;
  return { world, respond: response.resolve };
}

async function readTokens() {
  const store = await openCredentialStore(computer.credentials);
  const [record] = await store.all();
  store.close();
  return record?.tokens;
}

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  'a call saves refreshed tokens after %s, calls no tool, and ends with exit code %i',
  async (signal, code) => {
    const { world, respond } = await callDuringRefresh();
    const before = world.server.asked('/mcp').length;
    process.emit(signal);
    expect(exits).toEqual([]);
    respond();
    await expect.poll(() => exits).toEqual([code]);
    const tokens = await readTokens();
    expect(world.tokens.has(tokens?.accessToken ?? '')).toBe(true);
    expect(world.refreshTokens.has(tokens?.refreshToken ?? '')).toBe(true);
    expect(world.server.asked('/mcp')).toHaveLength(before);
  },
);

it('a call ends at once at a second signal', async () => {
  const { respond } = await callDuringRefresh();
  process.emit('SIGINT');
  expect(exits).toEqual([]);
  expect(() => process.emit('SIGTERM')).toThrow('exit 143');
  respond();
  await expect.poll(() => exits).toEqual([143, 130]);
});
