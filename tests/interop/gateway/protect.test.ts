/** `portcullis protect` in front of a server without authorization, with clients of both transports. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type EverythingServer, startEverythingServer } from '../../conformance/server/everything-server.ts';
import { owner } from '../../support/portcullis.ts';
import { type ProtectedProcess, startCommand } from '../../support/protect.ts';
import { sourceFlags } from '../../support/source-flags.ts';
import { createUser } from '../../support/user.ts';
import { createMemoryProvider } from '../memory-provider.ts';
import { sdks } from '../sdks.ts';

let backend: EverythingServer;
let gateway: ProtectedProcess;

beforeAll(async () => {
  backend = await startEverythingServer();
  gateway = await startCommand(['protect', '--verbose', backend.url]);
});

afterAll(async () => {
  expect(await gateway.stop()).toBe(0);
  await backend.stop();
});

describe('portcullis protect <url>', () => {
  it('prints what up prints, ends with the public URL, and needs no other setting', () => {
    expect(gateway.output()).toContain(`  server       ${gateway.url}/mcp\n`);
    expect(gateway.output()).toContain(
      'proposed     mcp:read for tools with readOnlyHint, mcp:write for all others',
    );
    expect(gateway.output().trimEnd().split('\n').at(-1)).toBe(`ready ${gateway.url}`);
  });

  it('names a server by its program, also behind env', async () => {
    const stdio = fileURLToPath(new URL('../../conformance/server/stdio.ts', import.meta.url));
    const words = ['env', 'LEVEL=1', process.execPath, ...sourceFlags(), stdio];
    const behindEnv = await startCommand(['protect', '--verbose', '--', ...words]);
    onTestFinished(async () => void (await behindEnv.stop()));
    expect(behindEnv.output()).toMatch(/^ {2}name {9}stdio$/m);
  });

  it('names a public server by its public address, because users do not know the one behind it', async () => {
    const isPublic = await startCommand([
      ...['protect', '--verbose', backend.url, '--public-url', 'https://mcp.example.com'],
    ]);
    onTestFinished(async () => void (await isPublic.stop()));
    expect(isPublic.output()).toMatch(/^ {2}name {9}mcp\.example\.com$/m);
    expect(gateway.output()).toContain(`\n  name         ${new URL(backend.url).host}\n`);
  });

  it.each(sdks)('lets a user of $name sign in and call tools', async (sdk) => {
    const resource = `${gateway.url}/mcp`;
    const provider = createMemoryProvider({ redirectUrl: 'http://127.0.0.1:9/callback' });
    await sdk.signIn(resource, provider, createUser(owner));
    const session = await sdk.connect(resource, provider);
    await session.call('test_simple_text');
    await session.call('test_tool_with_progress');
    await session.close();
  });
});
