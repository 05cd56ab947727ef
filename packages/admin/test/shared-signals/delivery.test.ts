/** Delivery of security events: what each receiver gets of which user, in which order, and what an outage or a crash repeats. */
import { createAuthorizationServer, createKeyAdministration } from '@portcullis/authorization-server';
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newEventStream } from '../../../store/testing/event-streams.ts';
import { newClient } from '../../../store/testing/samples.ts';
import { transmitterResourceOf } from '../../src/shared-signals/options.ts';
import { createEventTransmitter } from '../../src/shared-signals/transmitter.ts';
import {
  CAEP,
  FILES,
  ISSUER,
  type Json,
  NOTES,
  PUSH,
  RISC,
  SSF,
  setTransmitterScene,
  typeOf,
} from './scene.ts';

const REVOKED = `${CAEP}session-revoked`;
const CHANGED = `${CAEP}credential-change`;
const PUSHED = { delivery: { method: PUSH, endpoint_url: 'https://siem.example/events' } };

const ofUser = (sub: string) => ({ format: 'iss_sub', iss: ISSUER, sub });
const ofGrant = (sub: string, id: string) => ({
  ...{ format: 'complex', user: ofUser(sub), session: { format: 'opaque', id } },
});

describe('a security event', () => {
  it.each<[string, Json, readonly string[], Json]>([
    ['grant.revoked', { count: 2 }, [REVOKED], { initiating_entity: 'user' }],
    ['grant.revoked', { count: 2, reason: 'operator' }, [REVOKED], { initiating_entity: 'admin' }],
    ['grant.revoked', { count: 2, reason: 'surplus' }, [REVOKED], { initiating_entity: 'policy' }],
    ['grant.revoked', { count: 2, identityProvider: 'acme' }, [REVOKED], { initiating_entity: 'policy' }],
    ['account.disabled', {}, [`${RISC}account-disabled`, REVOKED], {}],
    ['account.enabled', {}, [`${RISC}account-enabled`], {}],
    ['account.removed', {}, [`${RISC}account-purged`, REVOKED], {}],
    ['password.changed', {}, [CHANGED], { credential_type: 'password', change_type: 'update' }],
    [
      'account.link_used',
      { purpose: 'reset' },
      [CHANGED],
      { credential_type: 'password', change_type: 'update', initiating_entity: 'user' },
    ],
    ['account.link_used', { purpose: 'invitation' }, [], {}],
    [
      'second_factor.recovery_codes_renewed',
      {},
      [CHANGED],
      { credential_type: 'app', change_type: 'update' },
    ],
    ['second_factor.enabled', {}, [CHANGED], { credential_type: 'app', change_type: 'create' }],
    ['second_factor.disabled', {}, [CHANGED], { credential_type: 'app', initiating_entity: 'user' }],
    [
      'second_factor.disabled',
      { reason: 'operator' },
      [CHANGED],
      { change_type: 'delete', initiating_entity: 'admin' },
    ],
    [
      'passkey.added',
      { passkeyId: 'p' },
      [CHANGED],
      { credential_type: 'fido2-roaming', change_type: 'create' },
    ],
    ['passkey.removed', { passkeyId: 'p' }, [CHANGED], { change_type: 'delete', initiating_entity: 'user' }],
    ['passkey.removed', { passkeyId: 'p', reason: 'operator' }, [CHANGED], { initiating_entity: 'admin' }],
    ['session.ended', { count: 1 }, [], {}],
    ['login.succeeded', {}, [], {}],
  ])('is what %s %j of a user is', async (type, details, expected, members) => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const accountId = await t.user();
    const { now } = t.clock;
    await t.happen({ type, accountId, details });
    const claims = await t.claims(id);
    expect(claims.map(typeOf)).toEqual(expected);
    for (const claim of claims) {
      expect(claim).toMatchObject({ iss: ISSUER, aud: 'siem', sub_id: ofUser(accountId) });
      expect(claim['iat']).toBe(Math.floor(now / 1000));
      expect(claim['txn']).toBe(claims[0]?.['txn']);
      for (const forbidden of ['sub', 'exp']) expect(claim).not.toHaveProperty(forbidden);
    }
    const [event = {}] = Object.values((claims[0]?.['events'] ?? {}) as Record<string, Json>);
    expect(event).toMatchObject(members);
    // "The reason_admin field of the event MUST be populated with a non-empty value."
    if ([REVOKED, CHANGED].includes(expected[0] ?? ''))
      expect(event['reason_admin']).toEqual({ en: expect.any(String) });
  });

  it.each<[string, Json]>([
    ['grant.revoked', { count: 1 }],
    ['token.revoked', {}],
    ['refresh_token.reuse_detected', {}],
    ['authorization_code.replayed', {}],
    ['provider_token.ended', { identityProvider: 'acme', reason: 'revoked' }],
  ])('names the grant that %s has ended as the session of the user', async (type, details) => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const accountId = await t.user();
    await t.happen({ type, accountId, grantId: 'grant_1', details });
    expect(await t.claims(id)).toMatchObject([{ sub_id: ofGrant(accountId, 'grant_1') }]);
  });

  it('is no access token that ends, and nothing of a client that acts for itself', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    await t.happen(
      { type: 'token.revoked', accountId: await t.user(), grantId: 'grant_1', resource: NOTES },
      { type: 'token.revoked', clientId: 'nightly' },
      { type: 'grant.revoked' },
    );
    expect(await t.claims(id)).toEqual([]);
  });

  it('names a user by a verified address where the receiver is set so, and by the account where there is none', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream({}, 'mailer');
    const ada = await t.user('ada@example.com');
    await t.happen({ accountId: ada }, { accountId: 'user_gone', type: 'account.removed' });
    const subjects = (await t.claims(id, 'mailer')).map(({ sub_id }) => sub_id);
    expect(subjects).toEqual([
      { format: 'email', email: 'ada@example.com' },
      ofUser('user_gone'),
      ofUser('user_gone'),
    ]);
  });
});

describe('a receiver', () => {
  it('with resources gets events about users and grants of these only', async () => {
    const t = await setTransmitterScene();
    const [notes, siem] = [await t.stream({}, 'notes'), await t.stream()];
    const [ada, bob] = [await t.user(), await t.user()];
    const [own, elsewhere] = [await t.grant(ada, NOTES), await t.grant(ada, FILES)];
    await t.grant(bob, FILES);
    await t.happen(
      { type: 'grant.revoked', accountId: ada, grantId: own },
      { type: 'grant.revoked', accountId: ada, grantId: elsewhere },
      { type: 'password.changed', accountId: ada },
      { type: 'password.changed', accountId: bob },
      { type: 'account.enabled', accountId: 'user_without_grants' },
    );
    expect((await t.claims(notes, 'notes')).map(({ sub_id }) => sub_id)).toEqual([
      ofGrant(ada, own),
      ofUser(ada),
    ]);
    expect(await t.claims(siem)).toHaveLength(5);
  });

  it('with resources learns that a user is disabled, whose grants have ended with the account', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream({}, 'notes');
    const [ada, bob] = [await t.user(), await t.user()];
    await t.grant(ada, NOTES);
    await t.grant(bob, FILES);
    for (const account of [ada, bob]) await t.store.disableAccount(account, Math.floor(t.clock.now / 1000));
    await t.happen(...[ada, bob].map((accountId) => ({ type: 'account.disabled', accountId })));
    expect((await t.claims(id, 'notes')).map(({ sub_id }) => sub_id)).toEqual([ofUser(ada), ofUser(ada)]);
  });

  it('gets the types that it requested', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream({ events_requested: [REVOKED] });
    const accountId = await t.user();
    await t.happen({ type: 'account.disabled', accountId }, { type: 'password.changed', accountId });
    expect((await t.claims(id)).map(typeOf)).toEqual([REVOKED]);
  });

  it('[SSF-SUBJECT-1 SSF-SUBJECT-2] gets nothing about a subject that it removed, until it adds it again', async () => {
    const t = await setTransmitterScene();
    const [id, other] = [await t.stream(), await t.stream()];
    const ada = await t.user('ada@example.com');
    const change = (what: string, subject: Json) =>
      t.call(`POST /ssf/subjects/${what}`, { stream_id: id, subject });
    expect((await change('remove', ofUser(ada))).status).toBe(204);
    await t.happen({ accountId: ada });
    expect([await t.claims(id), (await t.claims(other)).length]).toEqual([[], 1]);
    expect((await change('add', { format: 'email', email: 'ada@example.com' })).status).toBe(200);
    await t.happen({ accountId: ada });
    expect(await t.claims(id)).toHaveLength(2);
  });

  it('cannot find out by a subject whether an account exists', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    await t.user('ada@example.com');
    const stored = async () => (await t.snapshot()).replaceAll(/"version":\d+/g, '');
    const before = await stored();
    const statusOf = async (what: string, subject: Json) =>
      (await t.call(`POST /ssf/subjects/${what}`, { stream_id: id, subject })).status;
    const unknown: readonly Json[] = [
      { format: 'email', email: 'none@example.com' },
      ofUser('user_none'),
      { format: 'iss_sub', iss: 'https://other.example', sub: 'x' },
      { format: 'phone_number', phone_number: '+12065550100' },
    ];
    for (const subject of unknown)
      expect([await statusOf('remove', subject), await statusOf('add', subject)]).toEqual([204, 200]);
    expect(await stored()).toBe(before);
    const known = { format: 'email', email: 'ada@example.com' };
    expect([await statusOf('remove', known), await statusOf('add', known)]).toEqual([204, 200]);
    // Each is a change of the stream: neither a conflict nor the time that it takes tells them apart.
    const versionAfter = async (subject: Json) => {
      const { version = 0 } = (await t.store.findEventStream(id)) ?? {};
      await statusOf('remove', subject);
      return ((await t.store.findEventStream(id))?.version ?? 0) - version;
    };
    for (const subject of [known, ...unknown]) expect(await versionAfter(subject)).toBe(1);
    expect((await t.store.findEventStream(id))?.removedAccounts).toHaveLength(1);
  });

  it('[SSF-VERIFY-1 SSF-VERIFY-2] gets the verification event that it requests, about its stream and with its state', async () => {
    const t = await setTransmitterScene();
    const [id, other] = [await t.stream(), await t.stream()];
    const request = (body: Json) => t.call('POST /ssf/verification', { stream_id: id, ...body });
    expect((await request({ state: 'VGhpcw==' })).status).toBe(204);
    t.clock.now += 10_000;
    const verification = { sub_id: { format: 'opaque', id }, aud: 'siem' };
    expect(await t.claims(id)).toMatchObject([
      { ...verification, events: { [`${SSF}verification`]: { state: 'VGhpcw==' } } },
    ]);
    expect(await t.claims(other)).toEqual([]);
    expect((await request({})).status).toBe(204);
    expect((await request({})).status).toBe(429);
    t.clock.now += 10_000;
    expect((await t.claims(id)).at(-1)?.['events']).toEqual({ [`${SSF}verification`]: {} });
  });
});

describe('a stream that is polled', () => {
  it('repeats tokens in their order until they are acknowledged, each with the same identifier', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const users = [await t.user(), await t.user(), await t.user()];
    await t.happen(...users.map((accountId) => ({ accountId })));
    const first = await t.poll(id, { returnImmediately: true, maxEvents: 2 });
    expect([Object.keys(first.sets).length, first.moreAvailable]).toEqual([2, true]);
    const again = await t.poll(id);
    const ids = Object.keys(again.sets);
    expect(ids.slice(0, 2)).toEqual(Object.keys(first.sets));
    for (const [jti, token] of Object.entries(again.sets)) expect((await t.verify(token))['jti']).toBe(jti);
    const rest = await t.poll(id, { returnImmediately: true, ack: ids.slice(0, 2) });
    expect(Object.keys(rest.sets)).toEqual(ids.slice(2));
    expect(await t.poll(id, { ack: ids.slice(2), maxEvents: 0 })).toEqual({ sets: {}, moreAvailable: false });
    expect((await t.poll(id)).sets).toEqual({});
    expect((await t.poll(id, { returnImmediately: true, ack: ids })).sets).toEqual({});
  });

  it('repeats what follows a token that was passed over, so that none is lost', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    await t.happen(
      ...[await t.user(), await t.user()].map((accountId) => ({ type: 'account.disabled', accountId })),
    );
    const ids = Object.keys((await t.poll(id)).sets);
    expect(ids).toHaveLength(4);
    const [one = '', , three = '', four = ''] = ids;
    expect(
      Object.keys((await t.poll(id, { returnImmediately: true, ack: [one, three, four] })).sets),
    ).toEqual(ids.slice(1));
  });

  it('passes a token that its receiver rejects, and records why', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    await t.happen({ accountId: await t.user() });
    const [jti = ''] = Object.keys((await t.poll(id)).sets);
    const setErrs = { [jti]: { err: 'invalid_key', description: 'unknown key' } };
    expect((await t.poll(id, { returnImmediately: true, setErrs })).sets).toEqual({});
    const recorded = (await t.store.listEvents('', 100)).filter(
      ({ type }) => type === 'event_stream.event_rejected',
    );
    expect(recorded).toMatchObject([
      { clientId: 'siem', details: { streamId: id, token: jti, reason: 'invalid_key unknown key' } },
    ]);
  });

  it('records no error of a token that was never sent', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    await t.happen({ accountId: await t.user() });
    const before = await t.snapshot();
    const setErrs = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`made-up-${index}`, { err: 'x' }]),
    );
    const { sets } = await t.poll(id, { returnImmediately: true, setErrs });
    expect(Object.keys(sets)).toHaveLength(1);
    expect(await t.snapshot()).toBe(before);
  });

  it('passes any number of other events, and thousands of late ones in several polls', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const accountId = await t.user();
    const late = Array.from({ length: 250 }, () => ({ accountId }));
    const noise = Array.from({ length: 450 }, () => ({ type: 'login.succeeded', accountId }));
    await t.happen(...noise, ...late);
    const written = (await t.store.listEvents('', 1000)).filter(({ type }) => type === 'grant.revoked');
    const seen: string[] = [];
    for (let ack: readonly string[] | null = []; ack !== null; ) {
      const { sets } = await t.poll(id, { returnImmediately: true, ack });
      const ids: string[] = Object.keys(sets);
      seen.push(...ids);
      ack = ids.length === 0 ? null : ids;
    }
    expect(seen).toEqual(written.map((event) => `${event.id}.0`));
    const [first, last] = [written[0]?.id, written.at(-1)?.id];
    await t.happen({ type: 'audit.delayed', details: { first, last, count: 250 } });
    const repeated: string[] = [];
    for (let ack: readonly string[] | null = []; ack !== null; ) {
      const { sets } = await t.poll(id, { returnImmediately: true, ack });
      const ids: string[] = Object.keys(sets);
      repeated.push(...ids);
      ack = ids.length === 0 ? null : ids;
    }
    expect(repeated).toEqual(seen);
  });

  it('that was not polled for long catches up in several polls, none of which reads the whole log', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const accountId = await t.user();
    const noise = Array.from({ length: 5_500 }, () => ({ type: 'login.succeeded', accountId }));
    await t.happen(...noise, { accountId });
    expect(await t.poll(id)).toEqual({ sets: {}, moreAvailable: true });
    expect(Object.keys((await t.poll(id, {})).sets)).toHaveLength(1);
  });

  it('goes on with the events of the last ten minutes after the clock was ahead', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const accountId = await t.user();
    t.clock.now += 86_400_000;
    await t.happen({ accountId });
    const [ahead] = Object.keys((await t.poll(id)).sets);
    await t.poll(id, { ack: [ahead], maxEvents: 0 });
    t.clock.now -= 86_400_000;
    await t.happen({ accountId });
    expect(await t.claims(id)).toHaveLength(1);
  });

  it('[SSF-STATUS-4 SSF-STATUS-5] holds events while it is paused, and none while it is disabled', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const accountId = await t.user();
    const setStatus = async (status: string) => {
      await t.call('POST /ssf/status', { stream_id: id, status });
      t.clock.now += 10;
    };
    await setStatus('paused');
    await t.happen({ accountId });
    expect(await t.claims(id)).toEqual([]);
    await setStatus('enabled');
    const [held] = Object.keys((await t.poll(id)).sets);
    expect(held).toBeDefined();
    await t.poll(id, { ack: [held], maxEvents: 0 });
    await setStatus('disabled');
    await t.happen({ accountId });
    expect(await t.claims(id)).toEqual([]);
    await setStatus('enabled');
    expect(await t.claims(id)).toEqual([]);
    await t.happen({ accountId });
    expect(await t.claims(id)).toHaveLength(1);
  });

  it('waits for the next token, and a poll that waits ends when another begins', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const first = t.poll(id, {});
    const second = t.poll(id, {});
    expect(await first).toEqual({ sets: {}, moreAvailable: false });
    await t.happen({ accountId: await t.user() });
    expect(Object.keys((await second).sets)).toHaveLength(1);
  });

  it("two instances of its receiver do not end each other's polls without a pause", async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const began = performance.now();
    const polls = [t.poll(id, {}), t.poll(id, {}), t.poll(id, {})];
    await Promise.race(polls);
    expect(performance.now() - began).toBeGreaterThan(900);
    await t.happen({ accountId: await t.user() });
    const sent = (await Promise.all(polls)).map(({ sets }) => Object.keys(sets).length);
    expect(sent.at(-1)).toBe(1);
  });

  it.each<[string, unknown]>([
    ['a text', '"x"'],
    ['a negative number of tokens', { maxEvents: -1 }],
    ['acknowledgements that are no list', { ack: 'x' }],
    ['errors without a code', { setErrs: { x: {} } }],
  ])('is refused %s', async (_description, body) => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const before = await t.snapshot();
    expect((await t.call(`POST /ssf/poll/${id}`, body)).status).toBe(400);
    expect(await t.snapshot()).toBe(before);
  });
});

describe('a stream that is pushed', () => {
  it('[SSF-PUSH-1 SSF-PUSH-2] posts each token with the authorization of the receiver, once it has accepted those before', async () => {
    const t = await setTransmitterScene();
    const delivery = { ...PUSHED.delivery, authorization_header: 'Bearer of the receiver' };
    await t.stream({ delivery });
    const accountId = await t.user();
    await t.happen({ type: 'account.disabled', accountId }, { type: 'account.enabled', accountId });
    await t.transmitter.push.deliver();
    expect(t.pushed.map(({ url }) => url)).toEqual(Array.from({ length: 3 }, () => delivery.endpoint_url));
    const types: string[] = [];
    for (const { headers, body } of t.pushed) {
      expect(headers.get('content-type')).toBe('application/secevent+jwt');
      expect(headers.get('accept')).toBe('application/json');
      expect(headers.get('authorization')).toBe('Bearer of the receiver');
      types.push(typeOf(await t.verify(body)));
    }
    expect(types).toEqual([`${RISC}account-disabled`, REVOKED, `${RISC}account-enabled`]);
    await t.transmitter.push.deliver();
    expect(t.pushed).toHaveLength(3);
  });

  it('repeats a token with the same identifier while the receiver is down, and holds up no other receiver', async () => {
    const t = await setTransmitterScene();
    await t.stream(PUSHED);
    await t.stream({ delivery: { method: PUSH, endpoint_url: 'https://notes.example/events' } });
    t.respond = ({ url }) => new Response(null, { status: url.startsWith('https://siem') ? 503 : 202 });
    await t.happen({ accountId: await t.user() });
    await t.transmitter.push.deliver();
    t.respond = () => new Response(null, { status: 202 });
    t.clock.now += 60_000;
    await t.transmitter.push.deliver();
    await t.transmitter.push.deliver();
    const sent = await Promise.all(
      t.pushed.map(async ({ url, body }) => `${new URL(url).hostname} ${(await t.verify(body))['jti']}`),
    );
    expect(sent).toHaveLength(3);
    expect(new Set(sent).size).toBe(2);
    expect(t.reports.map(({ outcome }) => outcome).toSorted()).toEqual(['delivered', 'delivered', 'failed']);
  });

  it('holds up no other one while its receiver does not respond, and sends nothing more once it is paused', async () => {
    const t = await setTransmitterScene();
    const slow = await t.stream(PUSHED);
    await t.stream({ delivery: { method: PUSH, endpoint_url: 'https://quick.example/events' } });
    const { promise: responding, resolve: respond } = Promise.withResolvers<void>();
    t.respond = async ({ url }) => {
      if (url.startsWith('https://siem')) await responding;
      return new Response(null, { status: 202 });
    };
    const pushedTo = (host: string) => t.pushed.filter(({ url }) => url.startsWith(host)).length;
    const accountId = await t.user();
    for (const round of [1, 2]) {
      await t.happen({ accountId }, { accountId });
      await t.transmitter.push.deliver();
      expect([pushedTo('https://siem'), pushedTo('https://quick')]).toEqual([1, round * 2]);
    }
    await t.call('POST /ssf/status', { stream_id: slow, status: 'paused' });
    await t.transmitter.push.deliver();
    respond();
    await t.transmitter.push.deliver();
    expect(pushedTo('https://siem')).toBe(1);
    await t.call('POST /ssf/status', { stream_id: slow, status: 'enabled' });
    await t.transmitter.push.deliver();
    const sent = t.pushed.filter(({ url }) => url.startsWith('https://siem'));
    const ids = await Promise.all(sent.map(async ({ body }) => (await t.verify(body))['jti']));
    expect([ids.length, new Set(ids).size]).toEqual([4, 4]);
  });

  it('is not pushed while its client is disabled, and is removed with it', async () => {
    const t = await setTransmitterScene();
    const client = newClient({ id: 'app_siem' });
    await t.store.saveClient(client);
    const [id, other] = [newEventStream({ clientId: client.id }), newEventStream({ clientId: 'siem' })];
    for (const stream of [id, other])
      await t.store.createEventStream({ ...stream, encryptedAuthorization: null, eventsRequested: [] }, 5);
    await t.transmitter.push.deliver();
    const pushedAfter = async (change: () => Promise<boolean>) => {
      await change();
      const before = t.pushed.length;
      await t.happen({ accountId: await t.user() });
      await t.transmitter.push.deliver();
      return t.pushed.length - before;
    };
    const { store } = t;
    expect(await pushedAfter(() => store.disableClient(client.id, 1))).toBe(1);
    expect(await pushedAfter(() => store.enableClient(client.id, 2))).toBe(3);
    expect(await pushedAfter(() => store.removeClient(client.id, 1))).toBe(1);
    expect((await store.listEventStreams()).map((stream) => stream.id)).toEqual([other.id]);
    expect((await store.listWebhooks()).map(({ name }) => name)).toEqual([other.id]);
  });

  it('gives up a token that the receiver rejects three times, and goes on', async () => {
    const t = await setTransmitterScene();
    await t.stream(PUSHED);
    const [bad, good] = [await t.user(), await t.user()];
    await t.happen({ accountId: bad }, { accountId: good });
    t.respond = async ({ body }) => {
      const { sub_id: subject } = await t.verify(body);
      const isBad = (subject as Json)['sub'] === bad;
      return isBad
        ? Response.json({ err: 'invalid_request', description: 'x' }, { status: 400 })
        : new Response(null, { status: 202 });
    };
    for (let attempt = 0; attempt < 4; attempt += 1) {
      await t.transmitter.push.deliver();
      t.clock.now += 120_000;
    }
    expect(t.reports.filter(({ outcome }) => outcome === 'rejected')).toHaveLength(1);
    expect(await t.verify(t.pushed.at(-1)?.body)).toMatchObject({ iss: ISSUER });
  });

  it.each(['authentication_failed', 'access_denied'])(
    'gives no token up while the receiver says %s, and sends it once that is solved',
    async (err) => {
      const t = await setTransmitterScene();
      await t.stream(PUSHED);
      await t.happen({ accountId: await t.user() });
      t.respond = () => Response.json({ err, description: 'x' }, { status: 400 });
      for (let attempt = 0; attempt < 5; attempt += 1) {
        await t.transmitter.push.deliver();
        t.clock.now += 1_000_000;
      }
      expect(t.reports.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => 'failed'));
      t.respond = () => new Response(null, { status: 202 });
      await t.transmitter.push.deliver();
      expect(t.reports.at(-1)?.outcome).toBe('delivered');
      const ids = await Promise.all(t.pushed.map(async ({ body }) => (await t.verify(body))['jti']));
      expect([ids.length, new Set(ids).size]).toEqual([6, 1]);
    },
  );

  it('[SSF-STATUS-4 SSF-STATUS-5] holds events while it is paused, and none while it is disabled', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream(PUSHED);
    const accountId = await t.user();
    const pushedIn = async (status: string) => {
      await t.call('POST /ssf/status', { stream_id: id, status });
      t.clock.now += 10;
      const before = t.pushed.length;
      await t.transmitter.push.deliver();
      return t.pushed.length - before;
    };
    await pushedIn('paused');
    await t.happen({ accountId });
    expect([await pushedIn('paused'), await pushedIn('enabled')]).toEqual([0, 1]);
    await pushedIn('disabled');
    await t.happen({ accountId });
    expect([await pushedIn('disabled'), await pushedIn('enabled')]).toEqual([0, 0]);
    await t.happen({ accountId });
    expect(await pushedIn('enabled')).toBe(1);
  });

  it('continues where it was when its receiver polls it instead, and the other way', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream(PUSHED);
    await t.happen({ accountId: await t.user() });
    await t.transmitter.push.deliver();
    await t.happen({ accountId: await t.user() });
    const change = (delivery: Json) => t.call('PATCH /ssf/streams', { stream_id: id, delivery });
    expect((await change({ method: 'urn:ietf:rfc:8936' })).status).toBe(200);
    const [polled = ''] = Object.keys((await t.poll(id)).sets);
    expect((await t.verify((await t.poll(id)).sets[polled]))['jti']).not.toBe(
      (await t.verify(t.pushed[0]?.body))['jti'],
    );
    await t.poll(id, { ack: [polled], maxEvents: 0 });
    await t.happen({ accountId: await t.user() });
    await change(PUSHED.delivery);
    await t.transmitter.push.deliver();
    expect(t.pushed).toHaveLength(2);
  });

  it('[SSF-SSRF-1] sends nothing to a private address, whatever is stored', async () => {
    const t = await setTransmitterScene({ fetch: undefined });
    await t.store.createEventStream(
      newEventStream({ endpoint: 'https://10.0.0.8/events', encryptedAuthorization: null }),
      5,
    );
    await t.transmitter.push.deliver();
    await t.happen({ accountId: await t.user() });
    await t.transmitter.push.deliver();
    expect(t.reports).toMatchObject([
      { outcome: 'failed', reason: expect.stringContaining('may not be contacted') },
    ]);
  });

  it('has the authorization of its receiver under a new master key once the keys are, before it has anything to send', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream({ delivery: { ...PUSHED.delivery, authorization_header: 'Bearer x' } });
    const stored = async () =>
      (await t.store.findEventStream(id))?.encryptedAuthorization ?? new Uint8Array();
    const [masterKey, before] = [new Uint8Array(32).fill(9), new Uint8Array(32).fill(7)];
    const next = await createAuthorizationServer({
      ...{ issuer: ISSUER, store: t.store, resources: [transmitterResourceOf(ISSUER)] },
      ...{ masterKey, previousMasterKeys: [before] },
    });
    onTestFinished(() => next.close());
    const keys = next.securityEventKeys;
    expect(keys.isCurrent(await stored())).toBe(false);
    const { push } = createEventTransmitter({
      ...{
        issuer: ISSUER,
        settings: { receivers: [{ client: 'siem', subjects: 'iss_sub' }] },
        store: t.store,
        keys,
      },
      ...{
        clock: () => t.clock.now,
        events: () => {},
        report: () => {},
        outbound: { fetch: async () => new Response() },
      },
      createGuard: (resources) =>
        createGuard({
          resources,
          verifier: jwtVerifier({ issuer: ISSUER, jwks: next.jwks, isLive: next.isLive }),
        }),
    });
    await push.deliver();
    // Processes that encrypt under the key before may still run.
    expect(keys.isCurrent(await stored())).toBe(false);
    await createKeyAdministration({ store: t.store, masterKey: before }).reencrypt(masterKey);
    await push.deliver();
    expect(keys.decrypt(await stored(), id)).toBe('Bearer x');
    expect(keys.isCurrent(await stored())).toBe(true);
  });
});
