/** Requests of receivers that others have built or documented: the examples of the framework, and the receiver of caep.dev. */
import { expect, it } from 'vitest';
import { CAEP, type Json, POLL, PUSH, SSF, setTransmitterScene } from './scene.ts';

const TYPES = ['urn:example:secevent:events:type_2', 'urn:example:secevent:events:type_3'];
const DELIVERY = { method: PUSH, endpoint_url: 'https://receiver.example.com/events' };

it('the examples of the framework get the responses that it shows', async () => {
  const t = await setTransmitterScene();
  const created = await t.call('POST /ssf/streams', {
    delivery: DELIVERY,
    events_requested: TYPES,
    description: 'Stream for Receiver A using events type_2, type_3, type_4',
  });
  const id = String(created.body['stream_id']);
  expect(created).toMatchObject({ status: 201, body: { delivery: DELIVERY, events_requested: TYPES } });
  const steps: readonly (readonly [line: string, body: Json | undefined, status: number])[] = [
    [`GET /ssf/streams?stream_id=${id}`, undefined, 200],
    ['GET /ssf/streams', undefined, 200],
    [
      'PATCH /ssf/streams',
      { stream_id: id, events_requested: TYPES, description: 'Stream for Receiver B' },
      200,
    ],
    [
      'PUT /ssf/streams',
      { stream_id: id, delivery: DELIVERY, events_requested: TYPES, description: 'Stream for Receiver C' },
      200,
    ],
    [`GET /ssf/status?stream_id=${id}`, undefined, 200],
    [
      'POST /ssf/status',
      { stream_id: id, status: 'paused', reason: 'Disabled by administrator action.' },
      200,
    ],
    [
      'POST /ssf/subjects/add',
      { stream_id: id, subject: { format: 'email', email: 'example.user@example.com' }, verified: true },
      200,
    ],
    [
      'POST /ssf/subjects/remove',
      { stream_id: id, subject: { format: 'phone', phone_number: '+12065550123' } },
      204,
    ],
    ['POST /ssf/verification', { stream_id: id, state: 'VGhpcyBpcyBhbiBleGFtcGxlIHN0YXRlIHZhbHVlLgo=' }, 204],
    [`DELETE /ssf/streams?stream_id=${id}`, undefined, 204],
  ];
  for (const [line, body, status] of steps)
    expect([line, (await t.call(line, body)).status]).toEqual([line, status]);
});

it('the receiver of caep.dev creates a stream by its own name of the method, polls it, acknowledges and removes it', async () => {
  const t = await setTransmitterScene();
  const { body: configuration } = await t.call('GET /.well-known/ssf-configuration', undefined, {
    token: null,
  });
  const path = new URL(String(configuration['configuration_endpoint'])).pathname;
  const created = await t.call(`POST ${path}`, {
    delivery: { delivery_method: POLL },
    events_requested: [`${CAEP}session-revoked`],
  });
  const { stream_id: id, delivery } = created.body;
  const { method, endpoint_url: url } = delivery as {
    readonly method: string;
    readonly endpoint_url: string;
  };
  expect([created.status, method]).toEqual([201, POLL]);
  await t.happen({ accountId: await t.user() });
  const poll = `POST ${new URL(url).pathname}`;
  const { body: polled } = await t.call(poll, { ack: [], maxEvents: 10, returnImmediately: true });
  const ack = Object.keys(polled['sets'] as Json);
  expect(ack).toHaveLength(1);
  const acknowledged = await t.call(poll, { ack, returnImmediately: true });
  expect(acknowledged.body['sets']).toEqual({});
  expect((await t.call(`DELETE ${path}?stream_id=${id}`)).status).toBe(204);
});

it('a verification event is what a receiver of the framework expects', async () => {
  const t = await setTransmitterScene();
  const id = await t.stream();
  await t.call('POST /ssf/verification', { stream_id: id, state: 'x' });
  t.clock.now += 10_000;
  expect(await t.claims(id)).toMatchObject([
    { aud: 'siem', sub_id: { format: 'opaque', id }, events: { [`${SSF}verification`]: { state: 'x' } } },
  ]);
});
