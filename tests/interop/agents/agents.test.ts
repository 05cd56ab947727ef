/** Agent command lines that install from npm, with their own OAuth code and a mock language model. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileConfiguration } from '@portcullis/cli';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { installPackages } from '../../support/install.ts';
import { owner } from '../../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../support/portcullis-here.ts';
import { reservePort } from '../../support/ports.ts';
import { createUser } from '../../support/user.ts';
import { type Agent, agents, openedUrls, prepare, type Sandbox, start, stop, stopDaemons } from './agents.ts';
import { type LossyProxy, startLossyProxy } from './lossy-proxy.ts';
import { type MockModel, startMockModel } from './mock-model.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const { modules, missing } = await installPackages(folder);
if (missing !== undefined) console.warn(`skipped: ${missing}`);

interface Site {
  readonly server: PortcullisHere;
  readonly proxy: LossyProxy;
  stop(): Promise<void>;
}

/** Starts a server behind a proxy; with short lives, agents refresh an access token before each call. */
async function startSite(lifetimes: FileConfiguration['lifetimes'] = {}): Promise<Site> {
  const port = await reservePort();
  const publicUrl = `http://localhost:${port}`;
  const server = await startPortcullisHere({ publicUrl, metadataDocuments: false, lifetimes });
  const proxy = await startLossyProxy(port, server.port);
  const stopSite = async () => {
    await proxy[Symbol.asyncDispose]();
    await server.stop();
  };
  return { server, proxy, stop: stopSite };
}

/** Of all agents. */
let shared: Site;
beforeAll(async () => {
  if (missing === undefined) shared = await startSite();
});
afterAll(() => shared?.stop());

it.skipIf(missing).each(agents)('$name signs a user in by itself and calls a tool', async (agent) => {
  const { sandbox, model } = await signIn(agent, shared);
  const output = await callTool(agent, sandbox, model, shared);
  expect(model.toolResults.join(), output).toContain(shared.server.url);
});

it.skipIf(missing).each(agents.filter(({ refreshesEarly }) => refreshesEarly))(
  '$name stays signed in when it ends before it has saved a refresh response',
  async (agent) => {
    const site = await startSite({ accessToken: 30 });
    onTestFinished(site.stop);
    const { sandbox, model } = await signIn(agent, site);
    const lost = site.proxy.loseNextRefresh();
    const interrupted = start(agent, sandbox, agent.ask);
    await lost;
    stop(interrupted, 'SIGTERM');
    await interrupted.ended();
    const output = await callTool(agent, sandbox, model, site);
    expect(model.toolResults.join(), output).toContain(site.server.url);
    await expect.poll(site.server.output).toContain('refresh_token.retried');
    expect(await openedUrls(sandbox)).toHaveLength(1);
  },
  240_000,
);

/**
 * Some agents send the first prompt before they have listed the tools of a slow server, or list them between prompt and call and
 * then refuse the call, so they are prompted again.
 * @returns what the agent wrote
 */
async function callTool(agent: Agent, sandbox: Sandbox, model: MockModel, { server }: Site): Promise<string> {
  let output = '';
  const isCalled = () => model.toolResults.join().includes(server.url);
  for (let asks = 0; asks < 3 && !isCalled(); asks += 1) {
    const ask = start(agent, sandbox, agent.ask);
    expect(await ask.ended(), ask.output()).toBe(0);
    output += ask.output();
  }
  return output;
}

/** Signs the first user in with a new home folder. */
async function signIn(
  agent: Agent,
  { server }: Site,
): Promise<{ readonly sandbox: Sandbox; readonly model: MockModel }> {
  const model = await startMockModel('whoami', agent.connectsLate ?? false);
  const home = await mkdtemp(join(tmpdir(), 'portcullis-agent-'));
  onTestFinished(async () => {
    await model[Symbol.asyncDispose]();
    await stopDaemons({ home });
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  });
  const bin = join(modules, '.bin');
  const sandbox: Sandbox = { home, bin, resource: server.resource, model: model.url };
  await prepare(agent, sandbox);
  const run = start(agent, sandbox, agent.signIn);
  await expect.poll(() => openedUrls(sandbox), { message: run.output() }).toHaveLength(1);
  const [url = ''] = await openedUrls(sandbox);
  const callback = await createUser(owner).authorize(url);
  expect((await fetch(callback)).ok).toBe(true);
  const { saves } = agent.signIn;
  if (saves === undefined) expect(await run.ended(), run.output()).toBe(0);
  else await expect.poll(async () => (await readdir(home, { recursive: true })).join('\n')).toMatch(saves);
  stop(run);
  return { sandbox, model };
}
