/**
 * A whole synchronization of a directory, then one of a day's changes, with kills in between and refreshes at a steady rate meanwhile;
 * in the end every user and every membership is compared with the directory.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { createProvisioningTokenAdministration } from '@portcullis/authorization-server';
import { openStore } from '@portcullis/store';
import { sourceFlags } from '../../support/source-flags.ts';
import { authorize, redeem, signIn } from '../browser.ts';
import type { Place } from '../places.ts';
import { type AtEnd, type ServerProcess, send, startProcess } from '../servers.ts';
import { changeDirectory, createDirectory, type Directory } from './directory.ts';
import type { Latencies, RefreshLoad } from './refresh-load.ts';
import { readBack, type ScimService, sortDirectory, synchronize } from './synchronize.ts';

/** How much is tried. */
export interface SynchronizationPlan {
  readonly users: number;
  readonly groups: number;
  /** Of each of the two synchronizations. */
  readonly kills: number;
  /** Requests of the provisioning service at the same time. */
  readonly concurrency: number;
  /** Sessions that refresh, and how often in a second in all. */
  readonly sessions: number;
  readonly rate: number;
  /** Seconds of refreshes alone, before and after. */
  readonly alone: number;
  /** Whether the rate limit of connections is the default one. */
  readonly isLimited: boolean;
}

export interface SynchronizationReport {
  /** Seconds. */
  readonly whole: number;
  readonly changes: number;
  readonly requests: number;
  readonly kills: number;
  readonly refreshes: Readonly<Record<'before' | 'whole' | 'changes' | 'after', Latencies>>;
}

/** @throws Error for the first difference */
export async function runSynchronization(
  place: Place,
  plan: SynchronizationPlan,
  atEnd: AtEnd,
): Promise<SynchronizationReport> {
  const tokens = await openSessions(place, plan.sessions, atEnd);
  const token = await createToken(place.location);
  const start = () =>
    startProcess(place.location, atEnd, 5, plan.isLimited ? 'provisioning' : 'provisioning-unlimited');
  const service = createService(await start(), token, plan.concurrency);
  const load = startRefreshLoad(plan.rate, atEnd);
  load.send({ port: service.server().port, tokens });
  const alone = () => new Promise((resolve) => setTimeout(resolve, plan.alone * 1000));
  const measured = async <Outcome>(act: () => Promise<Outcome>) => {
    await load.report();
    const began = performance.now();
    const outcome = await act();
    const seconds = Math.round((performance.now() - began) / 100) / 10;
    return { outcome, seconds, latencies: await load.report() };
  };
  const killing = async (steps: number, act: () => Promise<unknown>) => {
    const stop = killAmid(service, plan.kills, steps, async () => {
      const server = await start();
      load.send({ port: server.port });
      return server;
    });
    await act();
    await stop();
  };
  const source = createDirectory(plan.users, plan.groups);
  const target = changeDirectory(source);
  const before = await measured(alone);
  const whole = await measured(() => killing(plan.users, () => synchronize(service, source, null)));
  compare(source, await readBack(service));
  const changes = await measured(() => killing(plan.users, () => synchronize(service, target, source)));
  compare(target, await readBack(service));
  const after = await measured(alone);
  await load.stop();
  await service.server().stop();
  return {
    whole: whole.seconds,
    changes: changes.seconds,
    requests: service.requests(),
    kills: service.kills(),
    refreshes: {
      before: before.latencies,
      whole: whole.latencies,
      changes: changes.latencies,
      after: after.latencies,
    },
  };
}

/** The users sign in before the identity provider is configured, whose own page would come first. */
async function openSessions(place: Place, count: number, atEnd: AtEnd): Promise<readonly string[]> {
  const server = await startProcess(place.location, atEnd);
  const signedIn = await signIn(server);
  const tokens: string[] = [];
  for (let session = 0; session < count; session += 1) {
    const { body } = await redeem(server, await authorize(server, signedIn));
    tokens.push(String(body['refresh_token']));
  }
  await server.stop();
  return tokens;
}

async function createToken(location: string): Promise<string> {
  const store = await openStore(location);
  const clock = () => Math.floor(Date.now() / 1000);
  const tokens = createProvisioningTokenAdministration({ store, clock, events: () => {} });
  const { token } = await tokens.create('acme', 'synchronization', 86_400);
  await store.close();
  return token;
}

interface RunningService extends ScimService {
  server(): ServerProcess;
  requests(): number;
  kills(): number;
  /** Kills the server, and goes on with the next one. */
  replace(start: () => Promise<ServerProcess>): Promise<void>;
}

function createService(first: ServerProcess, token: string, concurrency: number): RunningService {
  let server = first;
  let requests = 0;
  let kills = 0;
  let restarted: Promise<void> = Promise.resolve();
  const attempt: ScimService['send'] = async (method, path, json) => {
    const headers = { authorization: `Bearer ${token}` };
    const { status, text } = await send(server, `/scim/v2${path}`, { method, json, headers });
    requests += 1;
    return { status, body: text === '' ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>) };
  };
  return {
    concurrency,
    server: () => server,
    requests: () => requests,
    kills: () => kills,
    async send(method, path, json) {
      for (;;) {
        const response = await attempt(method, path, json);
        if (response.status !== 429) return response;
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    },
    back: () => restarted,
    async replace(start) {
      const { promise, resolve } = Promise.withResolvers<void>();
      restarted = promise;
      await server.kill();
      kills += 1;
      server = await start();
      resolve();
    },
  };
}

/** Kills the server after equal parts of the requests. @returns waits for the last restart */
function killAmid(
  service: RunningService,
  kills: number,
  steps: number,
  start: () => Promise<ServerProcess>,
): () => Promise<void> {
  const began = service.requests();
  let left = kills;
  let killing: Promise<void> | null = null;
  const timer = setInterval(() => {
    const due = began + (steps * (kills - left + 1)) / (kills + 1);
    if (left === 0 || killing !== null || service.requests() < due) return;
    left -= 1;
    killing = service.replace(start).finally(() => {
      killing = null;
    });
  }, 5);
  return async () => {
    clearInterval(timer);
    await killing;
    if (left > 0) throw new Error(`the synchronization ended before ${left} kills`);
  };
}

function startRefreshLoad(rate: number, atEnd: AtEnd) {
  const script = new URL('refresh-load.ts', import.meta.url);
  const child = fork(script, [String(rate)], { execArgv: [...sourceFlags()] });
  atEnd(async () => void child.kill('SIGKILL'));
  const failed = once(child, 'exit').then(([code]) =>
    Promise.reject(new Error(`the refreshes ended with ${code}`)),
  );
  failed.catch(() => {});
  return {
    send: (message: RefreshLoad) => void child.send(message),
    async report(): Promise<Latencies> {
      const reported = once(child, 'message');
      child.send('report');
      const [latencies] = await Promise.race([reported, failed]);
      return latencies as Latencies;
    },
    async stop(): Promise<void> {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

function compare(source: Directory, stored: Directory): void {
  const [wanted, found] = [sortDirectory(source), sortDirectory(stored)];
  for (const part of ['users', 'groups'] as const) {
    if (wanted[part].length !== found[part].length)
      throw new Error(`${found[part].length} ${part} are stored instead of ${wanted[part].length}`);
    for (const [index, one] of wanted[part].entries()) {
      if (!isDeepStrictEqual(one, found[part][index]))
        throw new Error(
          `stored: ${JSON.stringify(found[part][index]).slice(0, 500)}; wanted: ${JSON.stringify(one).slice(0, 500)}`,
        );
    }
  }
}
