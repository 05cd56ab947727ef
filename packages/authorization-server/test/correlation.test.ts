/** Correlation of events: one transaction, from the metadata a client reads to the first use of its token. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { basic, claimsOf, ISSUER, redemption, refreshing } from './server-under-test.ts';
import { requestOf, setScene, VERIFIER } from './visitor.ts';

const HOME = { address: '192.0.2.1' };

type Scene = Awaited<ReturnType<typeof setScene>>;

/** Reads metadata as a client does, signs in and redeems the code; the visitor's network is 192.0.2.1. */
async function flow(t: Scene, { from = HOME, later = 0 } = {}) {
  const headers = { 'MCP-Protocol-Version': '2025-11-25' };
  await t.server.handle(new Request(`${ISSUER}/.well-known/oauth-authorization-server`, { headers }), from);
  t.clock.now += later;
  const sight = await t.visitor.signIn(requestOf({ scope: 'notes:read' }));
  const { left } = await t.visitor.submit(sight, { decision: 'allow' });
  const { body } = await t.post('/token', {
    ...redemption(left?.searchParams.get('code') ?? '', VERIFIER, 'web'),
    client_secret: 'web-secret',
    redirect_uri: 'https://app.example/callback',
  });
  return { access: String(body['access_token']), refresh: String(body['refresh_token']) };
}

/** Refreshes as the client of the transaction. */
async function refresh(t: Scene, token: string) {
  const form = { ...refreshing(token, 'web'), client_secret: 'web-secret' };
  const { status, body } = await t.post('/token', form);
  expect(status).toBe(200);
  return { access: String(body['access_token']), refresh: String(body['refresh_token']) };
}

function begunOf({ events }: Scene) {
  return events.find(({ type }) => type === 'authorization.started');
}

describe('the correlation of events', () => {
  it('an event of a component is joined with the transaction of its grant, stored, and passed to its listener', async () => {
    const t = await setScene();
    const { access } = await flow(t);
    const grantId = String(claimsOf(access)['grant_id']);
    const received: object[] = [];
    const calls = {
      isRoutine: () => false,
      isBulk: () => true,
      listener: (event: object) => received.push(event),
    };
    t.server.recordOf(calls, { type: 'call.finished', grantId });
    t.server.recordOf({ ...calls, isRoutine: () => true }, { type: 'call.routine', grantId });
    const { transactionId = '' } = begunOf(t) ?? {};
    expect(received).toEqual([
      { type: 'call.finished', grantId, transactionId },
      { type: 'call.routine', grantId, transactionId },
    ]);
    await t.server.close();
    const stored = (await t.store.listTransactionEvents(transactionId, 100)).filter(({ type }) =>
      type.startsWith('call.'),
    );
    expect(stored).toMatchObject([{ type: 'call.finished', grantId }]);
    // The option `events` receives the events of the server alone.
    expect(t.events.map(({ type }) => type)).not.toContain('call.finished');
  });

  it('one transaction id joins events from discovery to the first introspected call', async () => {
    const t = await setScene();
    const { access: token } = await flow(t);
    const begun = begunOf(t);
    expect(begun).toMatchObject({
      discovery: { path: '/.well-known/oauth-authorization-server', version: '2025-11-25', before: 0 },
    });
    expect(t.events.filter(({ type }) => type === 'token.first_used')).toEqual([]);
    for (let count = 0; count < 2; count++) {
      const asked = await t.post('/introspect', { token }, basic('notes-server', 'notes-server-secret'));
      expect(asked.body['active']).toBe(true);
    }
    const used = t.events.filter(({ type }) => type === 'token.first_used');
    expect(used).toEqual([
      expect.objectContaining({
        transactionId: begun?.transactionId,
        clientId: 'web',
        accountId: 'user_ada',
        grantId: expect.stringMatching(/^grant_/),
        resource: 'https://mcp.example/notes',
        introspected: true,
      }),
    ]);
    await t.server.close();
    const joined = await t.store.listTransactionEvents(begun?.transactionId ?? '', 100);
    expect(joined.map(({ type }) => type)).toEqual([
      'authorization.started', 'login.succeeded', 'consent.allowed', 'authorization_code.issued', 'token.issued', 'token.first_used',
    ]); // biome-ignore format: one list
    expect(joined[0]?.details['discovery']).toMatchObject({ version: '2025-11-25' });
  });

  it('one transaction id joins events up to the first call at a guard in the same process', async () => {
    const t = await setScene();
    const { access } = await flow(t);
    const claims = claimsOf(access) as never;
    expect(await t.server.isLive(claims)).toBe(true);
    expect(t.events.at(-1)).toMatchObject({
      type: 'token.first_used',
      transactionId: begunOf(t)?.transactionId,
    });
    expect(t.events.at(-1)).not.toHaveProperty('introspected');
  });

  it('a transaction id covers one refresh; the grant joins later ones', async () => {
    const t = await setScene({ auditLevel: 'full' });
    const first = await flow(t);
    const second = await refresh(t, first.refresh);
    const third = await refresh(t, second.refresh);
    await t.server.isLive(claimsOf(third.access) as never);
    await t.server.close();
    const { transactionId, grantId } =
      t.events.find(({ type }) => type === 'authorization_code.issued') ?? {};
    const log = await t.store.listEvents('', 100);
    expect(log.slice(-4)).toMatchObject([
      { type: 'token.issued', transactionId, grantId },
      { type: 'refresh_token.rotated', transactionId, grantId },
      { type: 'refresh_token.rotated', transactionId: null, grantId },
      { type: 'token.first_used', transactionId, grantId },
    ]);
  });

  it('logs no first use of a revoked token', async () => {
    const t = await setScene();
    const { access: token } = await flow(t);
    await t.post('/revoke', { token, client_id: 'web', client_secret: 'web-secret' });
    expect(await t.server.isLive(claimsOf(token) as never)).toBe(false);
    expect(t.events.filter(({ type }) => type === 'token.first_used')).toEqual([]);
  });

  it.each([
    ['from another network', { from: { address: '192.0.2.77' } }],
    ['too long ago', { later: 121 }],
  ])('does not correlate metadata read %s', async (_what, how) => {
    const t = await setScene();
    await flow(t, how);
    expect(begunOf(t)).not.toHaveProperty('discovery');
  });
});

it('the operators’ list names every event type, and no other', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const declarations = [
    '../src/audit/events.ts',
    '../../gateway/src/audit/events.ts',
    '../../admin/src/operations/component-events.ts',
  ]
    .map(read)
    .join('');
  const defined = new Set([...declarations.matchAll(/'([a-z_]+\.[a-z_]+)'/g)].map(([, name]) => name ?? ''));
  const [, list = ''] = read('../../../docs/events.md').split('## The list');
  const [table = ''] = list.split('\n## ');
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  const documented = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  );
  expect(documented.toSorted()).toEqual([...defined].toSorted());
});
