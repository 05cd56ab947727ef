/** The transmitter's configuration and stream management: what receivers may do, and whose streams they see. */
import { describe, expect, it } from 'vitest';
import { CAEP, ISSUER, type Json, POLL, PUSH, RISC, setTransmitterScene } from './scene.ts';

const PUSHED = { method: PUSH, endpoint_url: 'https://siem.example/events' };
const REVOKED = `${CAEP}session-revoked`;

describe('the configuration of the transmitter', () => {
  it('[SSF-META-1 SSF-META-2 SSF-META-3] names its endpoints, its keys, delivery methods and how to authorize', async () => {
    const t = await setTransmitterScene();
    const { status, headers, body } = await t.call('GET /.well-known/ssf-configuration', undefined, {
      token: null,
    });
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(body).toEqual({
      spec_version: '1_0',
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/jwks`,
      delivery_methods_supported: [PUSH, POLL],
      configuration_endpoint: `${ISSUER}/ssf/streams`,
      status_endpoint: `${ISSUER}/ssf/status`,
      add_subject_endpoint: `${ISSUER}/ssf/subjects/add`,
      remove_subject_endpoint: `${ISSUER}/ssf/subjects/remove`,
      verification_endpoint: `${ISSUER}/ssf/verification`,
      authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
      default_subjects: 'ALL',
    });
    expect((await t.call('POST /.well-known/ssf-configuration', {})).status).toBe(405);
  });

  it('leads a receiver without a token to the metadata of the resource, with its scopes', async () => {
    const t = await setTransmitterScene();
    const refused = await t.call('GET /ssf/streams', undefined, { token: null });
    expect(refused.status).toBe(401);
    const path = '/.well-known/oauth-protected-resource/ssf';
    expect(refused.headers.get('www-authenticate')).toContain(`resource_metadata="${ISSUER}${path}"`);
    const { body } = await t.call(`GET ${path}`, undefined, { token: null });
    expect(body).toMatchObject({ resource: `${ISSUER}/ssf`, authorization_servers: [ISSUER] });
    // With these, it can do all that a receiver does.
    expect(body['scopes_supported']).toEqual(['ssf.read', 'ssf.manage']);
    const scope = (body['scopes_supported'] as readonly string[]).join(' ');
    expect((await t.call('POST /ssf/streams', {}, { scope })).status).toBe(201);
  });
});

describe('a receiver', () => {
  it('[SSF-CREATE-1 SSF-CREATE-2] creates a stream, which is polled unless it says otherwise', async () => {
    const t = await setTransmitterScene();
    const created = await t.call('POST /ssf/streams', { description: 'SIEM', unknown: true });
    const id = String(created.body['stream_id']);
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      ...{ iss: ISSUER, aud: 'siem', description: 'SIEM', min_verification_interval: 1 },
      delivery: { method: POLL, endpoint_url: `${ISSUER}/ssf/poll/${id}` },
    });
    expect(created.body['events_delivered']).toEqual(created.body['events_supported']);
    expect(created.body).not.toHaveProperty('unknown');
    const again = await t.call('POST /ssf/streams', { delivery: PUSHED });
    expect(again.body['stream_id']).not.toBe(id);
    expect(again.body['delivery']).toEqual(PUSHED);
  });

  it('[SSF-CREATE-3] gets the types that it requested and that are known', async () => {
    const t = await setTransmitterScene();
    const requested = [REVOKED, 'urn:example:event', `${RISC}account-disabled`];
    const { body } = await t.call('POST /ssf/streams', { events_requested: requested });
    expect(body['events_requested']).toEqual(requested);
    expect(body['events_delivered']).toEqual([REVOKED, `${RISC}account-disabled`]);
  });

  it('[SSF-READ-1 SSF-READ-2 SSF-READ-3] reads one stream, or the list of all that are its own', async () => {
    const t = await setTransmitterScene();
    expect((await t.call('GET /ssf/streams')).body).toEqual([]);
    const id = await t.stream();
    await t.stream({}, 'notes');
    const scope = 'ssf.read';
    const one = await t.call(`GET /ssf/streams?stream_id=${id}`, undefined, { scope });
    expect(one).toMatchObject({ status: 200, body: { stream_id: id } });
    expect((await t.call('GET /ssf/streams', undefined, { scope })).body).toEqual([one.body]);
  });

  it('[SSF-UPDATE-1 SSF-UPDATE-2] updates what it names, and nothing else', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream({
      ...{ events_requested: [REVOKED], description: 'SIEM' },
      delivery: { ...PUSHED, authorization_header: 'Bearer of the receiver' },
    });
    const before = (await t.store.findEventStream(id))?.encryptedAuthorization;
    const updated = await t.call('PATCH /ssf/streams', { stream_id: id, description: 'New' });
    expect(updated).toMatchObject({
      status: 200,
      body: { description: 'New', events_requested: [REVOKED], delivery: PUSHED },
    });
    expect((await t.store.findEventStream(id))?.encryptedAuthorization).toEqual(before);
    expect(before?.length).toBeGreaterThan(22);
  });

  it('[SSF-REPLACE-1] replaces the configuration: what is missing is removed', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream({ events_requested: [REVOKED], description: 'SIEM' });
    const { body } = await t.call('PUT /ssf/streams', { stream_id: id, delivery: PUSHED });
    expect(body).not.toHaveProperty('description');
    expect(body).not.toHaveProperty('events_requested');
    expect(body).toMatchObject({ stream_id: id, delivery: PUSHED });
    const whole = await t.call('PUT /ssf/streams', body);
    expect(whole).toMatchObject({ status: 200, body });
  });

  it.each<[string, Json]>([
    ['another issuer', { iss: 'https://other.example' }],
    ['another audience', { aud: 'other' }],
    ['other delivered events', { events_delivered: [REVOKED] }],
    ['other supported events', { events_supported: [] }],
  ])('[SSF-UPDATE-3 SSF-REPLACE-2] is refused a change to %s', async (_description, members) => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const before = await t.snapshot();
    for (const method of ['PATCH', 'PUT']) {
      const refused = await t.call(`${method} /ssf/streams`, { stream_id: id, description: 'x', ...members });
      expect(refused.status).toBe(400);
    }
    expect(await t.snapshot()).toBe(before);
  });

  it('[SSF-DELETE-1] removes a stream with its queue', async () => {
    const t = await setTransmitterScene();
    const [id, kept] = [await t.stream({ delivery: PUSHED }), await t.stream()];
    expect((await t.call(`DELETE /ssf/streams?stream_id=${id}`)).status).toBe(204);
    expect((await t.call('GET /ssf/streams')).body).toMatchObject([{ stream_id: kept }]);
    expect((await t.store.listWebhooks()).map(({ name }) => name)).toEqual([kept]);
  });

  it('[SSF-STATUS-1 SSF-STATUS-2] reads and changes the status, with a reason', async () => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const status = () => t.call(`GET /ssf/status?stream_id=${id}`, undefined, { scope: 'ssf.read' });
    expect((await status()).body).toEqual({ stream_id: id, status: 'enabled' });
    const paused = { stream_id: id, status: 'paused', reason: 'maintenance' };
    expect(await t.call('POST /ssf/status', paused)).toMatchObject({ status: 200, body: paused });
    expect((await status()).body).toEqual(paused);
    expect((await t.call('POST /ssf/status', { ...paused, status: 'broken' })).status).toBe(400);
  });

  it.each<[string, Json]>([
    ['POST /ssf/status', { status: 'paused', reason: 'maintenance\0' }],
    ['POST /ssf/verification', { state: 'state\0' }],
    ['PATCH /ssf/streams', { description: 'SIEM\0' }],
  ])('is refused a text that PostgreSQL cannot store: %s', async (line, body) => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const before = await t.snapshot();
    expect((await t.call(line, { stream_id: id, ...body })).status).toBe(400);
    expect(await t.snapshot()).toBe(before);
    const shown = JSON.parse(JSON.stringify(body).replace('\\u0000', ' ✓')) as Json;
    expect((await t.call(line, { stream_id: id, ...shown })).status).toBeLessThan(300);
  });

  it.each([
    'GET /ssf/streams?stream_id=ID',
    'DELETE /ssf/streams?stream_id=ID',
    'PATCH /ssf/streams',
    'PUT /ssf/streams',
    'GET /ssf/status?stream_id=ID',
    'POST /ssf/status',
    'POST /ssf/subjects/add',
    'POST /ssf/subjects/remove',
    'POST /ssf/verification',
    'POST /ssf/poll/ID',
  ])(
    '[SSF-AUTH-2 SSF-STATUS-3] gets 404 for the stream of another receiver, and for none: %s',
    async (line) => {
      const t = await setTransmitterScene();
      const subject = { format: 'iss_sub', iss: ISSUER, sub: 'user_ada' };
      const id = await t.stream({}, 'notes');
      const before = await t.snapshot();
      const send = (stream: string, client: string) => {
        const hasBody = !/^(?:GET|DELETE)/.test(line);
        const body = { stream_id: stream, status: 'paused', subject, returnImmediately: true };
        return t.call(line.replace('ID', stream), hasBody ? body : undefined, { client });
      };
      expect((await send(id, 'siem')).status).toBe(404);
      expect((await send('stream_none', 'notes')).status).toBe(404);
      expect(await t.snapshot()).toBe(before);
      expect((await send(id, 'notes')).status).toBeLessThan(300);
    },
  );

  it.each([
    ['DELETE /ssf/status', 'GET, POST'],
    ['PUT /ssf/subjects/add', 'POST'],
    ['GET /ssf/poll/ID', 'POST'],
  ])('learns the methods of a path from a 405: %s', async (line, allow) => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const before = await t.snapshot();
    const body = line.startsWith('PUT') ? { stream_id: id } : undefined;
    const refused = await t.call(line.replace('ID', id), body);
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, allow]);
    expect(await t.snapshot()).toBe(before);
  });

  it.each<[string, Json | undefined]>([
    ['PATCH /ssf/streams', {}],
    ['PUT /ssf/streams', {}],
    ['DELETE /ssf/streams', undefined],
    ['GET /ssf/status', undefined],
    ['POST /ssf/status', { status: 'paused' }],
  ])('gets 400, and not 404, for a request that names no stream: %s', async (line, body) => {
    const t = await setTransmitterScene();
    const id = await t.stream();
    const before = await t.snapshot();
    expect((await t.call(line, body)).status).toBe(400);
    expect(await t.snapshot()).toBe(before);
    const named = body === undefined ? `${line}?stream_id=${id}` : line;
    expect((await t.call(named, body && { ...body, stream_id: id })).status).toBeLessThan(300);
  });

  it.each([
    'POST /ssf/streams',
    'PATCH /ssf/streams',
    'DELETE /ssf/streams?stream_id=ID',
    'POST /ssf/status',
    'POST /ssf/subjects/remove',
    'POST /ssf/verification',
    'POST /ssf/poll/ID',
  ])(
    '[SSF-AUTH-1 SSF-AUTH-3] is refused %s without a token, and with one that may only read',
    async (line) => {
      const t = await setTransmitterScene();
      const id = await t.stream();
      const before = await t.snapshot();
      const body = line.startsWith('DELETE') ? undefined : { stream_id: id };
      const named = line.replace('ID', id);
      expect((await t.call(named, body, { token: null })).status).toBe(401);
      const refused = await t.call(named, body, { scope: 'ssf.read' });
      expect(refused.status).toBe(403);
      expect(refused.headers.get('www-authenticate')).toContain('scope="ssf.manage"');
      expect(await t.snapshot()).toBe(before);
    },
  );

  it('is one that the setting names: another client gets no token for it, and its old token is refused', async () => {
    const t = await setTransmitterScene();
    expect(await t.token('other')).toBe('undefined');
    const token = await t.token('siem');
    const without = await setTransmitterScene({}, { receivers: [{ client: 'notes' }] });
    expect((await t.call('POST /ssf/streams', {}, { token })).status).toBe(201);
    expect((await without.call('POST /ssf/streams', {}, { token })).status).not.toBe(201);
    expect(await without.store.listEventStreams()).toEqual([]);
  });

  it('has at most five streams', async () => {
    const t = await setTransmitterScene();
    for (let count = 0; count < 5; count += 1) await t.stream();
    const before = await t.snapshot();
    expect((await t.call('POST /ssf/streams', {})).status).toBe(403);
    expect(await t.snapshot()).toBe(before);
    await t.stream({}, 'notes');
  });

  it('has at most five streams, also when it creates twenty at the same time', async () => {
    const t = await setTransmitterScene();
    const token = await t.token();
    const create = () => t.call('POST /ssf/streams', {}, { token });
    const created = await Promise.all(Array.from({ length: 20 }, create));
    expect(created.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(created.filter(({ status }) => status === 403)).toHaveLength(15);
    expect(await t.store.listEventStreams()).toHaveLength(5);
    expect(await t.store.listWebhooks()).toHaveLength(5);
  });
});

describe('a stream that is pushed', () => {
  it.each([
    'http://siem.example/events',
    'https://127.0.0.1/events',
    'http://localhost:9200/',
    'https://[::1]/events',
    'https://10.0.0.8/events',
    'https://169.254.169.254/latest/meta-data/',
    'https://user:password@siem.example/events',
    'ftp://siem.example/events',
    'events',
  ])('[SSF-SSRF-1] is refused with the endpoint %s', async (endpoint) => {
    const t = await setTransmitterScene();
    const id = await t.stream({ delivery: PUSHED });
    const before = await t.snapshot();
    const delivery = { method: PUSH, endpoint_url: endpoint };
    expect((await t.call('POST /ssf/streams', { delivery })).status).toBe(400);
    expect((await t.call('PATCH /ssf/streams', { stream_id: id, delivery })).status).toBe(400);
    expect(await t.snapshot()).toBe(before);
  });

  it.each<[string, unknown]>([
    ['without an endpoint', { delivery: { method: PUSH } }],
    ['with another method', { delivery: { method: 'urn:ietf:rfc:9999' } }],
    ['with a header of two lines', { delivery: { ...PUSHED, authorization_header: 'Bearer x\r\nx: y' } }],
    ['with types that are no texts', { events_requested: [1] }],
    ['with a type that PostgreSQL cannot store', { events_requested: ['\0'] }],
    ['with a description that PostgreSQL cannot store', { description: 'SIEM\0' }],
    ['as a list', []],
    ['as no JSON', '{'],
  ])('is refused %s', async (_description, body) => {
    const t = await setTransmitterScene();
    const before = await t.snapshot();
    expect((await t.call('POST /ssf/streams', body)).status).toBe(400);
    expect(await t.snapshot()).toBe(before);
  });
});
