/** The audit log: what happened, to whom, in which transaction; written in the background, without secrets. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { createAuditLog } from '../src/audit/audit-log.ts';
import { basic, CLIENTS, redemption, refreshing } from './server-under-test.ts';
import { CHALLENGE, decide, EMAIL, PASSWORD, requestOf, setScene, VERIFIER } from './visitor.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** Everything of the store's log, once the server has written it. */
async function logOf(t: Awaited<ReturnType<typeof setScene>>) {
  await t.server.close();
  return t.store.listEvents('', 1000);
}

describe('the audit log', () => {
  it('the audit log records a transaction from start to end, with user, client, grant and resource', async () => {
    const t = await setScene();
    await t.send('/.well-known/oauth-authorization-server', {
      headers: { 'MCP-Protocol-Version': '2025-06-18' },
    });
    const sight = await t.visitor.signIn(requestOf({ scope: 'notes:read' }));
    const { left } = await t.visitor.submit(sight, { decision: 'allow' });
    const code = left?.searchParams.get('code') ?? '';
    const redeemed = await t.post('/token', {
      ...redemption(code, VERIFIER, 'web'),
      client_secret: 'web-secret',
      redirect_uri: 'https://app.example/callback',
    });
    expect(redeemed.status).toBe(200);
    const refreshed = await t.post('/token', {
      ...refreshing(redeemed.body['refresh_token'], 'web'),
      client_secret: 'web-secret',
    });
    expect(refreshed.status).toBe(200);
    expect(t.events).toContainEqual({
      type: 'metadata.read',
      path: '/.well-known/oauth-authorization-server',
      version: '2025-06-18',
    });

    const log = await logOf(t);
    expect(log.map(({ type }) => type)).toEqual([
      'key.created',
      'authorization.started',
      'login.succeeded',
      'consent.allowed',
      'authorization_code.issued',
      'token.issued',
      'refresh_token.rotated',
    ]);
    const flow = log[1]?.transactionId ?? '';
    expect(flow).toMatch(/^flow_/);
    const joined = await t.store.listTransactionEvents(flow, 100);
    expect(joined.map(({ type }) => type)).toEqual([
      'authorization.started',
      'login.succeeded',
      'consent.allowed',
      'authorization_code.issued',
      'token.issued',
      'refresh_token.rotated',
    ]);
    expect(joined.at(-1)).toMatchObject({
      clientId: 'web',
      accountId: 'user_ada',
      grantId: expect.stringMatching(/^grant_/),
      resource: 'https://mcp.example/notes',
      transactionId: flow,
      details: { scopes: ['notes:read'] },
    });
    expect(joined[0]?.details).toMatchObject({ network: '192.0.2.1' });
  });

  it.each([
    { level: 'summary' as const, stored: 0 },
    { level: 'full' as const, stored: 100 },
  ])(
    'stores $stored of 100 ordinary refreshes with level $level, and every security event',
    async ({ level, stored }) => {
      const store = await openEmptyStore();
      const auditLog = createAuditLog(store, 100, () => 1000, level);
      for (let count = 0; count < 100; count++) {
        auditLog.record({ type: 'refresh_token.rotated', grantId: `grant_${count}` });
      }
      auditLog.record({ type: 'refresh_token.rotated', grantId: 'grant_new', transactionId: 'flow_1' });
      auditLog.record({ type: 'refresh_token.retried', grantId: 'grant_1', secondsSinceRotation: 9 });
      auditLog.record({ type: 'refresh_token.ahead_of_store', grantId: 'grant_1' });
      auditLog.record({ type: 'refresh_token.reuse_detected', grantId: 'grant_1' });
      auditLog.record({ type: 'grant.revoked', grantId: 'grant_1', count: 1 });
      await auditLog.close();
      const types = (await store.listEvents('', 1000)).map(({ type }) => type);
      expect(types).toHaveLength(stored + 5);
      expect(types.slice(stored)).toEqual([
        'refresh_token.rotated',
        'refresh_token.retried',
        'refresh_token.ahead_of_store',
        'refresh_token.reuse_detected',
        'grant.revoked',
      ]);
      await store.close();
    },
  );

  it('the audit log records rejections with their private reason', async () => {
    const t = await setScene();
    await t.post('/token', { grant_type: 'client_credentials' }, basic('nightly', 'wrong'));
    const [last] = (await logOf(t)).slice(-1);
    expect(last).toMatchObject({
      type: 'request.rejected',
      details: { endpoint: '/token', error: 'invalid_client', reason: 'wrong secret: "nightly"' },
    });
  });

  it('[S-STORE-1] the audit log and the event stream hold no secret, whatever happened', async () => {
    const t = await setScene();
    const secrets = new Set<string>([
      PASSWORD,
      VERIFIER,
      'state-canary',
      'wrong password here',
      'guessed-secret',
    ]);
    for (const { client_secret: secret } of CLIENTS as { client_secret?: string }[]) {
      if (secret !== undefined) secrets.add(secret);
    }
    const login = await t.visitor.open(requestOf({ state: 'state-canary' }));
    await t.visitor.submit(login, { email: EMAIL, password: 'wrong password here' });
    const sight = await t.visitor.signIn(requestOf());
    const { left } = await t.visitor.submit(sight, { decision: 'allow' });
    const code = left?.searchParams.get('code') ?? '';
    secrets.add(code);
    for (const cookie of t.visitor.cookies.values()) secrets.add(cookie);
    const form = { ...redemption(code, VERIFIER, 'web'), client_secret: 'web-secret' };
    const { body } = await t.post('/token', form);
    const tokens = [body['access_token'], body['refresh_token']].map(String);
    const { body: next } = await t.post('/token', {
      ...refreshing(tokens[1], 'web'),
      client_secret: 'web-secret',
    });
    for (const token of [...tokens, next['access_token'], next['refresh_token']]) secrets.add(String(token));
    await t.post('/token', form);
    await t.post('/token', { ...refreshing('guessed-secret', 'web'), client_secret: 'guessed-secret' });
    await t.post('/introspect', { token: tokens[0] ?? '' }, basic('web', 'guessed-secret'));
    await t.post('/introspect', { token: tokens[0] ?? '' }, basic('web-secret', 'web'));
    await t.post('/revoke', { token: tokens[1] ?? '', client_id: 'web', client_secret: 'web-secret' });
    const { body: registered } = await t.register({ redirect_uris: ['https://a.example/cb'] });
    for (const name of ['client_secret', 'registration_access_token']) {
      if (registered[name] !== undefined) secrets.add(String(registered[name]));
    }
    const second = (await decide(t.visitor, requestOf())).left?.searchParams.get('code') ?? '';
    const mistaken = { ...redemption(second, VERIFIER, 'web'), client_secret: 'web-secret' };
    await t.post('/token', { ...mistaken, client_id: 'nightly', client_secret: 'nightly-secret' });
    await t.post('/token', { ...mistaken, redirect_uri: 'https://other.example/cb' });
    await t.post('/token', { ...mistaken, code_verifier: `not-${VERIFIER}` });
    secrets.add(second);
    for (const cookie of t.visitor.cookies.values()) secrets.add(cookie);
    await t.send(`/authorize?client_id=${code}&code_challenge=${CHALLENGE}`);

    const log = JSON.stringify([await logOf(t), t.events]);
    for (const type of ['authorization_code.replayed', 'token.issued', 'request.rejected', 'login.failed']) {
      expect(log).toContain(type);
    }
    expect(secrets.size).toBeGreaterThan(12);
    for (const secret of secrets) expect(log).not.toContain(secret);
  });

  it('the audit log can be switched off', async () => {
    const t = await setScene({ auditRetention: false });
    await t.signIn();
    expect(t.events.map(({ type }) => type)).toContain('token.issued');
    expect(await logOf(t)).toEqual([]);
  });

  it('audit events are deleted after the configured retention', async () => {
    const t = await setScene({ auditRetention: 100 });
    const log = await logOf(t);
    expect(log.every(({ expiresAt }) => expiresAt === t.clock.now + 100)).toBe(true);
    expect(await t.store.sweep(t.clock.now + 100, 1000)).toBe(log.length);
  });
});

describe('writing the audit log', () => {
  const issued = (clientId: string) => ({ type: 'token.issued', grantType: 'x', clientId }) as const;
  interface Call {
    readonly type: 'call.finished';
    readonly method: string;
    readonly decision: 'allowed' | 'denied';
  }
  const called = (method: string, decision: Call['decision'] = 'allowed'): Call => ({
    type: 'call.finished',
    method,
    decision,
  });
  /** As a component declares its events. */
  const calls = {
    isRoutine: ({ method, decision }: Call) => decision === 'allowed' && method !== 'tools/call',
    isBulk: () => true,
  };
  const now = () => 1_800_000_000;

  it('the audit log writes in batches, in order, and flushes on close', async () => {
    const store = await openEmptyStore();
    const batches: number[] = [];
    const appendEvents: typeof store.appendEvents = (events) => {
      batches.push(events.length);
      return store.appendEvents(events);
    };
    const auditLog = createAuditLog({ ...store, appendEvents }, 100, now);
    for (let count = 0; count < 1200; count++) auditLog.record(issued(`c${count}`));
    expect(batches).toEqual([]);
    await auditLog.close();
    expect(batches).toEqual([500, 500, 200]);
    const written = await store.listEvents('', 2000);
    expect(written.map(({ clientId }) => clientId)).toEqual(Array.from({ length: 1200 }, (_, i) => `c${i}`));
    auditLog.record(issued('late'));
    await auditLog.close();
    expect(await store.listLatestEvents(1)).toMatchObject([{ clientId: 'c1199' }]);
    await store.close();
  });

  it('a flood of events of a component displaces no other event, and what is dropped is counted', async () => {
    const store = await openEmptyStore();
    const auditLog = createAuditLog(store, 100, now);
    auditLog.record({ type: 'refresh_token.reuse_detected', grantId: 'grant_1' });
    for (let count = 0; count < 10_010; count++) auditLog.recordOf(calls, called('tools/call'));
    await auditLog.close();
    const written = await store.listEvents('', 20_000);
    expect(written[0]).toMatchObject({ type: 'refresh_token.reuse_detected' });
    expect(written.find(({ type }) => type === 'audit.dropped')?.details).toEqual({ count: 10 });
    expect(written).toHaveLength(10_002);
    await store.close();
  });

  it.each([
    ['summary', ['tools/call', 'tools/list denied']],
    ['full', ['tools/list', 'tools/call', 'tools/list denied']],
  ] as const)(
    'with the level %s, what is stored of the events of a component is %j',
    async (level, expected) => {
      const store = await openEmptyStore();
      const auditLog = createAuditLog(store, 100, now, level);
      auditLog.recordOf(calls, called('tools/list'));
      auditLog.recordOf(calls, called('tools/call'));
      auditLog.recordOf(calls, called('tools/list', 'denied'));
      await auditLog.close();
      const stored = (await store.listEvents('', 10)).map(({ details }) =>
        [details['method'], ...(details['decision'] === 'denied' ? ['denied'] : [])].join(' '),
      );
      expect(stored).toEqual(expected);
      await store.close();
    },
  );

  it.each([
    ['behind', 15, 15],
    ['ahead', -15, -15],
    ['almost exact', 4, 0],
  ])(
    'the time of events is that of the database where the clock is %s, and readers learn of those before',
    async (_, seconds, expected) => {
      const store = await openEmptyStore();
      const began = Date.now();
      const readClock = async () => Date.now() / 1000 + seconds;
      const auditLog = createAuditLog({ ...store, readClock }, 100, () => Math.floor(Date.now() / 1000));
      auditLog.record(issued('first'));
      await auditLog.flush();
      auditLog.record(issued('second'));
      await auditLog.close();
      const written = await store.listEvents('', 10);
      const find = (clientId: string) => written.find((event) => event.clientId === clientId);
      // The comparison is exact to the time that it takes.
      const [earliest, latest] = [began + expected * 1000 - 1000, Date.now() + expected * 1000 + 1000];
      const timeOf = (event: (typeof written)[number] | undefined) => event?.at ?? 0;
      expect(timeOf(find('second'))).toBeGreaterThan(earliest);
      expect(timeOf(find('second'))).toBeLessThan(latest);
      const delayed = written.find(({ type }) => type === 'audit.delayed');
      const first = find('first')?.id;
      expect(delayed?.details).toEqual(expected > 0 ? { first, last: first, count: 1 } : undefined);
      if (delayed !== undefined) expect(delayed.at).toBeGreaterThan(earliest);
      await store.close();
    },
  );

  it('the audit log writes by itself a moment later', async () => {
    const store = await openEmptyStore();
    const auditLog = createAuditLog(store, 100, now);
    auditLog.record(issued('c'));
    await expect.poll(() => store.listEvents('', 10)).toHaveLength(1);
    await auditLog.close();
    await store.close();
  });

  it('the audit log buffers events during a store outage, within bounds, and counts what it dropped', async () => {
    vi.useFakeTimers();
    const store = await openEmptyStore();
    let isAway = true;
    const appendEvents: typeof store.appendEvents = (events) =>
      isAway ? Promise.reject(new Error('away')) : store.appendEvents(events);
    const auditLog = createAuditLog({ ...store, appendEvents }, 100, now);
    for (let count = 0; count < 10_003; count++) auditLog.record(issued(`c${count}`));
    await vi.advanceTimersByTimeAsync(5_000);
    isAway = false;
    vi.useRealTimers();
    await auditLog.close();
    const written = await store.listEvents('', 20_000);
    expect(written.filter(({ type }) => type === 'token.issued')).toHaveLength(10_000);
    expect(written.filter(({ type }) => type === 'audit.dropped').map(({ details }) => details)).toEqual([
      { count: 3 },
    ]);
    await store.close();
  });

  it.each([
    {
      description: 'once what the store refuses',
      error: new Error('permission denied'),
      reports: [{ type: 'request.failed', endpoint: 'audit-log', reason: 'Error: permission denied' }],
    },
    { description: 'no outage of the store', error: temporarilyUnavailable('away'), reports: [] },
  ])('the audit log reports $description, and writes the events later', async ({ error, reports }) => {
    vi.useFakeTimers();
    const store = await openEmptyStore();
    let tries = 0;
    const appendEvents: typeof store.appendEvents = (events) => {
      tries += 1;
      return tries <= 3 ? Promise.reject(error) : store.appendEvents(events);
    };
    const report = vi.fn();
    const auditLog = createAuditLog({ ...store, appendEvents }, 100, now, 'summary', report);
    auditLog.record(issued('c'));
    await vi.advanceTimersByTimeAsync(5_000);
    vi.useRealTimers();
    expect(tries).toBe(3);
    expect(await store.listEvents('', 10)).toEqual([]);
    expect(report.mock.calls.flat()).toEqual(reports);
    await auditLog.close();
    expect(await store.listEvents('', 10)).toMatchObject([{ clientId: 'c' }]);
    await store.close();
  });

  it('the audit log rate-limits and truncates events that anonymous requests cause, and writes all others', async () => {
    const store = await openEmptyStore();
    const auditLog = createAuditLog(store, 100, now);
    const noise = { type: 'request.rejected', endpoint: '/token', error: 'x', reason: 'y' } as const;
    const document = {
      type: 'client_metadata_document.rejected',
      clientId: `https://a.example/${'x'.repeat(2000)}`,
      reason: 'z'.repeat(2000),
      lastGoodCopy: false,
    } as const;
    for (let count = 0; count < 2000; count++) for (const event of [noise, document]) auditLog.record(event);
    auditLog.record({ type: 'login.failed' });
    auditLog.record({ ...issued('c'), resource: `https://mcp.example/${'r'.repeat(400)}` });
    await auditLog.close();
    const written = await store.listEvents('', 10_000);
    const ofType = (type: string) => written.filter((event) => event.type === type);
    expect(ofType('request.rejected')).toHaveLength(1000);
    expect(ofType('client_metadata_document.rejected')).toHaveLength(1000);
    expect(ofType('login.failed')).toHaveLength(1);
    const [first] = ofType('client_metadata_document.rejected');
    expect([first?.clientId?.length, String(first?.details['reason']).length]).toEqual([301, 301]);
    expect(first?.details['lastGoodCopy']).toBe(false);
    expect(ofType('token.issued')[0]?.resource).toHaveLength(420);
    await store.close();
  });

  it('the audit log bounds rejections, so that anonymous requests cannot fill the disk', async () => {
    const store = await openEmptyStore();
    const auditLog = createAuditLog(store, 100, now);
    const refused = { type: 'request.rejected', endpoint: '/token', error: 'x', reason: 'y' } as const;
    for (let count = 0; count < 5000; count++) auditLog.record(refused);
    auditLog.record(issued('c'));
    await auditLog.close();
    const written = await store.listEvents('', 10_000);
    expect(written.filter(({ type }) => type === 'request.rejected')).toHaveLength(1000);
    expect(written.find(({ type }) => type === 'audit.dropped')?.details).toEqual({ count: 4000 });
    expect(written.some(({ clientId }) => clientId === 'c')).toBe(true);
    await store.close();
  });
});
