/**
 * Clients of three processes that share a database: sessions that refresh, codes that are redeemed and revoked, calls through the
 * gateway. What was acknowledged is noted, and checked against the store and the backend at the end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { authorize, type Code, redeem, refresh, type SignedIn, signIn } from './browser.ts';
import type { CountingServer } from './counting-server.ts';
import { ACCESS, type Instance } from './instances.ts';
import { createPauses, type Pauses } from './pauses.ts';
import { type Answer, send } from './servers.ts';
import { credentialsOf } from './world.ts';

/** Milliseconds after which a request without a response hangs. */
const HANGS = 40_000;
/** Milliseconds between the requests of a client that does something else than to refresh, which is tried most. */
const PACE = 100;
/** Calls with one access token. */
const CALLS_OF_TOKEN = 500;

/** What was acknowledged, and how often a client was told to come back. */
interface Counts {
  refreshes: number;
  codes: number;
  revocations: number;
  calls: number;
  /** Requests that got 503 or no response. */
  unavailable: number;
}

interface Session {
  refresh: string;
  access: string;
}

export interface ClusterLoad {
  readonly counts: Readonly<Counts>;
  /** Between acknowledged refreshes, redeemed codes and answered calls. */
  readonly pauses: { readonly refreshes: Pauses; readonly codes: Pauses; readonly calls: Pauses };
  /** What no client may see. */
  readonly problems: readonly string[];
  /** Resolves when so many more of each were acknowledged, or there is a problem. */
  progress(more: Readonly<Partial<Counts>>): Promise<void>;
  /** Ends it, and checks that everything acknowledged is there. */
  finish(): Promise<void>;
}

/** What the clients share. */
interface Run {
  readonly instances: readonly Instance[];
  readonly counts: Counts;
  readonly pauses: ClusterLoad['pauses'];
  readonly problems: string[];
  readonly sessions: Session[];
  readonly revoked: string[];
  readonly answered: number[];
  lastCode: Code | null;
  isStopped: boolean;
  requests: number;
}

/** Each request goes to another process than the one before. */
function next(run: Run): Instance {
  run.requests += 1;
  return run.instances[run.requests % run.instances.length] as Instance;
}

/** @returns `null`: it has to be sent again */
async function attempt(run: Run, what: string, request: Promise<Answer>): Promise<Answer | null> {
  const { problems } = run;
  const timer = setTimeout(() => problems.push(`${what} has no response after ${HANGS} ms`), HANGS);
  const answer = await request.catch(() => null);
  clearTimeout(timer);
  if (answer !== null && answer.status < 500) return answer;
  if (answer !== null && answer.status !== 503) problems.push(`${what}: ${answer.status} ${answer.text}`);
  await comeBack(run);
  return null;
}

async function comeBack(run: Run): Promise<void> {
  run.counts.unavailable += 1;
  await sleep(200);
}

async function untilAnswered(
  run: Run,
  what: string,
  request: () => Promise<Answer>,
): Promise<Answer & { readonly tries: number }> {
  for (let tries = 1; ; tries += 1) {
    const answer = await attempt(run, what, request());
    if (answer !== null) return { ...answer, tries };
  }
}

async function renew(run: Run, session: Session): Promise<boolean> {
  const send = () => refresh(next(run), session.refresh);
  const { status, body, text } = await untilAnswered(run, 'refresh', send);
  if (status !== 200) {
    run.problems.push(`refresh: ${status} ${text}`);
    return false;
  }
  session.refresh = String(body['refresh_token']);
  session.access = String(body['access_token']);
  run.counts.refreshes += 1;
  run.pauses.refreshes.note();
  return true;
}

async function requestCode(run: Run, signedIn: SignedIn): Promise<Code> {
  for (;;) {
    try {
      return await authorize(next(run), signedIn);
    } catch (error) {
      // Where remembered consent cannot be read, its page is shown.
      if (!/but (303|503)|ECONN|socket hang up|broke off/.test(String(error))) throw error;
      await comeBack(run);
    }
  }
}

/** @returns `null`: the redemption was committed, and its response lost */
async function begin(run: Run, signedIn: SignedIn): Promise<Session | null> {
  const code = await requestCode(run, signedIn);
  const { status, body, text, tries } = await untilAnswered(run, 'code', () => redeem(next(run), code));
  if (status !== 200) {
    if (tries === 1) run.problems.push(`code: ${status} ${text}`);
    return null;
  }
  run.counts.codes += 1;
  run.pauses.codes.note();
  run.lastCode = code;
  return { refresh: String(body['refresh_token']), access: String(body['access_token']) };
}

async function keepRefreshing(run: Run, session: Session): Promise<void> {
  while (!run.isStopped && (await renew(run, session)));
}

async function keepRedeeming(run: Run, signedIn: SignedIn): Promise<void> {
  while (!run.isStopped) {
    await sleep(PACE);
    const session = await begin(run, signedIn);
    if (session === null || !(await renew(run, session))) continue;
    const form = { token: session.refresh, ...credentialsOf('web') };
    const { status } = await untilAnswered(run, 'revocation', () => send(next(run), '/revoke', { form }));
    if (status !== 200) run.problems.push(`revocation: ${status}`);
    run.counts.revocations += 1;
    run.revoked.push(session.refresh);
  }
}

/** A client uses its access token for a while. */
async function keepCalling(run: Run, session: Session): Promise<void> {
  for (let calls = 1; !run.isStopped; calls += 1) {
    if (calls % CALLS_OF_TOKEN === 0 && !(await renew(run, session))) return;
    await sleep(PACE);
    const instance = next(run);
    const n = run.requests;
    const answer = await attempt(run, 'call', call(instance, session.access, n));
    if (answer === null) continue;
    if (answer.status !== 200 || answer.body['id'] !== n)
      run.problems.push(`call ${n}: ${answer.status} ${answer.text}`);
    run.answered.push(n);
    run.counts.calls += 1;
    run.pauses.calls.note();
  }
}

/** Everything acknowledged is there: sessions, revocations, the use of codes, calls. */
async function checkAcknowledged(run: Run, executed: ReadonlyMap<number, number>): Promise<void> {
  for (const session of run.sessions) await renew(run, session);
  const tokens = run.revoked.values();
  const checkRevoked = async () => {
    for (const token of tokens) expect((await refresh(next(run), token)).body['error']).toBe('invalid_grant');
  };
  await Promise.all(run.sessions.map(checkRevoked));
  if (run.lastCode !== null) expect((await redeem(next(run), run.lastCode)).status).toBe(400);
  expect(run.problems).toEqual([]);
  expect(run.answered.filter((n) => executed.get(n) !== 1)).toEqual([]);
}

export async function startLoad(
  instances: readonly Instance[],
  { executed }: Pick<CountingServer, 'executed'>,
  size: { readonly sessions: number; readonly callers: number; readonly codes: number },
): Promise<ClusterLoad> {
  const run: Run = {
    instances,
    counts: { refreshes: 0, codes: 0, revocations: 0, calls: 0, unavailable: 0 },
    pauses: { refreshes: createPauses(), codes: createPauses(), calls: createPauses() },
    problems: [],
    sessions: [],
    revoked: [],
    answered: [],
    lastCode: null,
    isStopped: false,
    requests: 0,
  };
  const { counts, pauses, problems, sessions } = run;
  const signedIn = await signIn(next(run), ACCESS);
  while (sessions.length < size.sessions + size.callers) {
    const session = await begin(run, signedIn);
    if (session !== null) sessions.push(session);
  }
  const redeeming = () =>
    keepRedeeming(run, signedIn).catch((error: unknown) => void problems.push(String(error)));
  const clients = [
    ...sessions.slice(size.callers).map((session) => keepRefreshing(run, session)),
    ...sessions.slice(0, size.callers).map((session) => keepCalling(run, session)),
    ...Array.from({ length: size.codes }, redeeming),
  ];
  return {
    counts,
    pauses,
    problems,
    async progress(more) {
      const names = Object.keys(more) as (keyof Counts)[];
      const goals = names.map((name) => [name, counts[name] + (more[name] ?? 0)] as const);
      while (goals.some(([name, goal]) => counts[name] < goal) && problems.length === 0) await sleep(20);
    },
    async finish() {
      run.isStopped = true;
      await Promise.all(clients);
      await checkAcknowledged(run, executed);
    },
  };
}

function call(instance: Instance, token: string, n: number): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' };
  const params = { name: 'count', arguments: { n } };
  return send(instance, '/mcp', { headers, json: { jsonrpc: '2.0', id: n, method: 'tools/call', params } });
}
