/** Two users, each with two clients, at one running gateway: whatever they try with what belongs to another, nothing crosses. */
import { describe, expect, it } from 'vitest';
import { type Member, type SharedGateway, startSharedGateway } from './shared-gateway.ts';

/** The tool by which each server says who calls, or what was said. */
const PATHS = {
  '/hub': 'whoami',
  '/open': 'whoami',
  '/own': 'echo',
  '/shared': 'echo',
  '/all': 'hub__whoami',
};

const call = (name: string, input = {}, more = {}) => ({
  ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
  params: { name, arguments: input, ...more },
});
const request = (method: string, params = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
/** What must not reach a backend. */
const mallory = (tool: string) => call(tool, { text: 'mallory' });
const answer = (id: unknown) => ({
  jsonrpc: '2.0',
  id,
  result: { action: 'accept', content: { name: 'mallory' } },
});

interface Cast {
  readonly shared: SharedGateway;
  readonly ada: Member;
  /** Another client of Ada's, another user with the same client, and another user with another client. */
  readonly others: readonly Member[];
}

async function gather(): Promise<Cast> {
  const shared = await startSharedGateway();
  const [ada, ...others] = [
    await shared.join('ada', 'one'),
    await shared.join('ada', 'two'),
    await shared.join('bob', 'one'),
    await shared.join('bob', 'two'),
  ] as const;
  for (const member of [ada, ...others]) for (const path of Object.keys(PATHS)) await member.authorize(path);
  return { shared, ada, others };
}

async function useSessions({ ada, others }: Cast): Promise<void> {
  for (const [path, tool] of Object.entries(PATHS)) {
    const session = await ada.initialize(path);
    for (const other of others)
      for (const [method, message] of [
        ['POST', mallory(tool)],
        ['POST', answer('q1')],
        ['POST', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'mallory' } }],
        ['GET', null],
        ['DELETE', null],
      ] as const)
        expect([path, method, (await other.send(path, message, { method, session })).status]).toEqual([
          path,
          method,
          404,
        ]);
    const own = await ada.send(path, call(tool, { text: 'mine' }), { session });
    expect([path, own.status]).toEqual([path, 200]);
  }
}

async function useTokens({ ada }: Cast): Promise<void> {
  for (const at of Object.keys(PATHS))
    for (const of of Object.keys(PATHS))
      if (at !== of)
        expect([at, of, (await ada.send(at, mallory('whoami'), { token: ada.token(of) })).status]).toEqual([
          at,
          of,
          401,
        ]);
}

async function resumeStreams({ ada, others, shared }: Cast): Promise<void> {
  const session = await ada.initialize('/hub');
  const stream = await (await ada.send('/hub', null, { method: 'GET', session })).text();
  const [, id = ''] = /^id: (.+)$/m.exec(stream) ?? [];
  for (const other of others) {
    const own = await other.initialize('/hub');
    for (const event of [id, 'e1']) {
      const resumed = await other.send('/hub', null, {
        method: 'GET',
        session: own,
        headers: { 'last-event-id': event },
      });
      expect(resumed.status).toBe(404);
    }
  }
  const resumed = await ada.send('/hub', null, { method: 'GET', session, headers: { 'last-event-id': id } });
  expect(await resumed.text()).toContain('the stream of');
  // The client of the SDK resumes by itself, when its stream has ended.
  const resumptions = shared.hub.server.reached.filter(({ lastEventId }) => lastEventId !== null);
  expect(new Set(resumptions.map(({ lastEventId, user }) => `${lastEventId} of ${user}`)).size).toBe(1);
  expect(resumptions[0]).toMatchObject({ lastEventId: 'e1' });
}

async function useTasks({ ada, others }: Cast): Promise<void> {
  const session = await ada.initialize('/hub');
  const started = await ada.send('/hub', call('task', {}, { task: { ttl: 60_000 } }), { session });
  const { taskId } = (
    (await started.json()) as { readonly result: { readonly task: { readonly taskId: string } } }
  ).result.task;
  const ask = async (member: Member, method: string, id: string) =>
    (
      await member.send('/hub', request(method, { taskId: id }), { session: await member.initialize('/hub') })
    ).text();
  for (const other of others)
    for (const id of [taskId, 't1'])
      for (const method of [
        'tasks/get',
        'tasks/result',
        'tasks/cancel',
        'tasks/update',
        'tasks//get',
        'Tasks/get',
      ])
        expect(await ask(other, method, id)).toMatch(/Task not found|not available/);
  expect(await ask(ada, 'tasks/get', taskId)).toContain('working');
}

async function answerQuestions({ ada, others }: Cast): Promise<void> {
  for (const [path, tool] of [
    ['/hub', 'ask'],
    ['/own', 'ask'],
    ['/all', 'own__ask'],
  ] as const) {
    const session = await ada.initialize(path);
    const asking = await ada.send(path, call(tool), { session });
    const events = asking.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const read = async (expected: RegExp): Promise<string> => {
      for (;;) {
        const found = expected.exec(text)?.[1];
        if (found !== undefined) return found;
        const next = await events?.read();
        if (next?.value === undefined) throw new Error(`${path} ended: ${text}`);
        text += next.value;
      }
    };
    const id = await read(/"id":"([^"]+)","method":"elicitation/);
    for (const other of others) {
      const own = await other.initialize(path);
      for (const guess of [id, 'q1', 1])
        expect([path, (await other.send(path, answer(guess), { session: own })).status]).toEqual([path, 400]);
    }
    const accepted = { ...answer(id), result: { action: 'accept', content: { name: 'of ada' } } };
    expect((await ada.send(path, accepted, { session })).status).toBe(202);
    expect(await read(/(of ada|mallory)/)).toBe('of ada');
    await events?.cancel();
  }
}

/** A link of Ada's, opened by Bob; then Ada's connection at the hub ends, and Bob's goes on. */
async function connectAccounts({ shared, ada, others }: Cast): Promise<void> {
  const who = async (member: Member) => (await member.send('/hub', call('whoami'))).text();
  const accounts = shared.hub.accounts;
  const bob = others.at(-1);
  if (bob === undefined) throw new Error('no other user');
  await shared.hub.store.revokeAccountGrants(accounts['ada'] ?? '', null, Math.floor(Date.now() / 1000));
  await expect.poll(() => who(ada), { interval: 500 }).toContain('-32042');
  expect(await who(bob)).toContain(accounts['bob']);
  const [, link = ''] = /"url":"([^"]+)"/.exec(await who(ada)) ?? [];
  const page = await shared.browsers['bob']?.allow(link);
  expect([page?.status, page?.html]).toEqual([403, expect.stringContaining('for another user')]);
  expect(await who(ada)).toContain('-32042');
  expect((await shared.browsers['ada']?.allow(link))?.html).toContain('Hub is connected');
  expect(await who(ada)).toContain(accounts['ada']);
}

/** The backends have seen each user with their own credential only, and nothing of what the clients hold. */
function searchBackends({ shared: { hub, open }, ada, others }: Cast): void {
  const users = new Map<string, Set<string>>();
  for (const { session, user } of hub.server.reached)
    if (session !== null) users.set(session, (users.get(session) ?? new Set()).add(user));
  expect(users.size).toBeGreaterThan(8);
  expect([...users].filter(([, known]) => known.size !== 1)).toEqual([]);
  expect(new Set(hub.server.reached.map(({ user }) => user))).toEqual(new Set(Object.values(hub.accounts)));
  const seen = JSON.stringify([hub.server.reached, hub.tokens, open.reached]);
  for (const member of [ada, ...others])
    for (const path of Object.keys(PATHS)) expect(seen).not.toContain(member.token(path));
  expect(seen).not.toContain('mallory');
  expect(open.reached.filter(({ headers }) => 'authorization' in headers || 'cookie' in headers)).toEqual([]);
}

describe('a gateway that two users share', { timeout: 240_000 }, () => {
  it('lets none of their clients use a session, stream, task, question, link or token of another', async () => {
    const cast = await gather();
    await useSessions(cast);
    await useTokens(cast);
    await resumeStreams(cast);
    await useTasks(cast);
    await answerQuestions(cast);
    await connectAccounts(cast);
    searchBackends(cast);
  });
});
