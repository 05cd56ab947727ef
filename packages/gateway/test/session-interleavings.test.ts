/** Every order of requests with the ID of a session, at two processes: it serves its own user, client, server and grant only. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import type { LiveSession } from '../src/backends/clients/live-session.ts';
import { createSessionTable, type SessionTable } from '../src/backends/clients/session-table.ts';
import { type GatewayRequest, type Owner, userKey } from '../src/servers/request.ts';
import { createSealer, type Sealer } from '../src/sessions/sealer.ts';

const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} };
const ada: Owner = {
  issuer: 'https://as.example',
  clientId: 'app',
  subject: 'ada',
  resource: 'https://a.example/mcp',
  backend: 'http://127.0.0.1:3000/mcp',
};
const others: Readonly<Record<string, Owner>> = {
  user: { ...ada, subject: 'bob' },
  client: { ...ada, clientId: 'other' },
  server: { ...ada, resource: 'https://b.example/mcp' },
};

function requestOf(owner: Owner, id?: string, grantId = 'first'): GatewayRequest {
  const headers = id === undefined ? {} : { 'mcp-session-id': id };
  const outgoing = { writeHead: () => ({ end: () => undefined }) };
  return { owner, principal: { grantId }, incoming: { headers }, outgoing } as unknown as GatewayRequest;
}

/** Two processes with one master key, and a session that Ada opened at the first. */
interface Scene {
  readonly processes: readonly [SessionTable, SessionTable];
  readonly id: string;
  /** Where she deleted it. */
  readonly deletedAt: Set<SessionTable>;
  /** Whom each session has served. */
  readonly served: Map<LiveSession, string>;
}

function setScene(sealer: Sealer): Scene {
  const create = () => createSessionTable(sealer, () => new Promise(() => {}));
  const processes = [create(), create()] as const;
  const opened = processes[0].open(requestOf(ada), 'session', initialize);
  const id = processes[0].seal(requestOf(ada), opened);
  return { processes, id, deletedAt: new Set(), served: new Map([[opened, userKey(ada)]]) };
}

/** The session of a request; `null`: it was refused with 404. */
function find(table: SessionTable, request: GatewayRequest): LiveSession | null {
  try {
    return table.find(request);
  } catch (error) {
    if (Object(error).status === 404) return null;
    throw error;
  }
}

/** @returns what is wrong; `null`: nothing */
type Act = (scene: Scene, table: SessionTable) => string | null;

const call =
  (grantId: string): Act =>
  ({ id, deletedAt, served }, table) => {
    const session = find(table, requestOf(ada, id, grantId));
    if (deletedAt.has(table)) return session === null ? null : 'a deleted session is served';
    if (session === null) return 'its owner does not get the session';
    if (session.grantId !== grantId) return 'a grant gets the session of another';
    const user = served.get(session) ?? userKey(ada);
    served.set(session, user);
    return user === session.user ? null : 'a session has two users';
  };

const acts: Readonly<Record<string, Act>> = {
  call: call('first'),
  'call with another grant': call('second'),
  delete(scene, table) {
    const session = find(table, requestOf(ada, scene.id));
    if (session !== null) table.delete(session);
    scene.deletedAt.add(table);
    return null;
  },
  ...Object.fromEntries(
    Object.entries(others).map(([what, owner]): [string, Act] => [
      `call of another ${what}`,
      ({ id }, table) => (find(table, requestOf(owner, id)) === null ? null : `another ${what} is served`),
    ]),
  ),
};

/** Each act at each process, in every order of so many. @returns the first that goes wrong, and how many orders there were */
async function explore(sealer: Sealer, length: number): Promise<readonly [string | null, number]> {
  const moves = Object.entries(acts).flatMap(([name, act]) => [0, 1].map((at) => ({ name, act, at })));
  let orders = 0;
  for (; orders < moves.length ** length; orders += 1) {
    const scene = setScene(sealer);
    const order = Array.from(
      { length },
      (_, index) => moves[Math.floor(orders / moves.length ** index) % moves.length],
    );
    for (const move of order) {
      const table = scene.processes[move?.at ?? 0];
      const wrong = table === undefined ? null : (move?.act(scene, table) ?? null);
      if (wrong !== null)
        return [`${wrong}: ${order.map((one) => `${one?.name} at ${one?.at}`).join(', ')}`, orders];
    }
    await Promise.all(scene.processes.map((table) => table.close()));
  }
  return [null, orders];
}

it('a session serves its own user, client, server and grant, in every order of three requests at two processes', async () => {
  expect(await explore(createSealer(randomBytes(32)), 3)).toEqual([null, 12 ** 3]);
});

it.each(Object.entries(others))(
  'the exploration finds sealed IDs that open for another %s',
  async (what, owner) => {
    const sealer = createSealer(randomBytes(32));
    const open: Sealer['open'] = (kind, by, sealed) => sealer.open(kind, by === owner ? ada : by, sealed);
    const [wrong] = await explore({ ...sealer, open }, 1);
    expect(wrong).toContain(`another ${what} is served`);
  },
);
