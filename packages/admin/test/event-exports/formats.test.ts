/** Events in the formats of exports: by OCSF, and as log records of OTLP. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createExportSender } from '../../src/event-exports/create-sender.ts';
import { AT, eventOf } from './event-of.ts';

/** Every event that docs/events.md lists. */
const page = readFileSync(fileURLToPath(new URL('../../../../docs/events.md', import.meta.url)), 'utf8');
const types = [...new Set([...page.matchAll(/`((?:[a-z_]+\.)+[a-z_]+)`/g)].map(([, type = '']) => type))];

/** Sends an event to a receiver that responds as given. */
async function send(
  event: ReturnType<typeof eventOf>,
  format: 'json' | 'ocsf' | 'otlp',
  respond: () => Response = () => Response.json({}),
) {
  const requests: Request[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    requests.push(new Request(input, init));
    return respond();
  };
  const url = 'https://siem.example/v1/logs';
  const headers = { authorization: 'Bearer of the receiver' };
  const sender = createExportSender({ name: 'siem', url, format, headers }, { fetch });
  const attempt = await sender.send(event);
  const [request = expect.fail()] = requests;
  return { attempt, headers: request.headers, body: JSON.parse(await request.text()) };
}

describe('OCSF', () => {
  it.each(types)('%s has the identifiers of its class', async (type) => {
    const { body } = await send(eventOf(type), 'ocsf');
    expect(body.type_uid).toBe(body.class_uid * 100 + body.activity_id);
    expect(body.category_uid).toBe(Math.floor(body.class_uid / 1000));
    expect(body).toMatchObject({
      time: AT,
      severity_id: expect.any(Number),
      status_id: expect.any(Number),
      metadata: { version: '1.1.0', event_code: type, product: { vendor_name: 'Portcullis' } },
    });
    if (body.activity_id === 99) expect(body.activity_name).toBe(type);
  });

  it.each([
    [
      'login.succeeded',
      { class_uid: 3002, activity_id: 1, status_id: 1, severity_id: 1, user: { uid: 'account_1' } },
    ],
    ['login.failed', { class_uid: 3002, activity_id: 1, status_id: 2, severity_id: 3 }],
    ['session.ended', { class_uid: 3002, activity_id: 2, status_id: 1 }],
    ['account.disabled', { class_uid: 3001, activity_id: 5, user: { uid: 'account_1' } }],
    ['password.changed', { class_uid: 3001, activity_id: 3 }],
    ['client.added', { class_uid: 3004, activity_id: 1, entity: { type: 'client', uid: 'client_1' } }],
    ['key.rotated', { class_uid: 3004, activity_id: 3 }],
    ['refresh_token.reuse_detected', { class_uid: 6003, status_id: 2, severity_id: 5 }],
    ['token.issued', { class_uid: 6003, activity_id: 1, api: { operation: 'token.issued' } }],
  ])('%s is what a SIEM looks for', async (type, expected) => {
    const members = { accountId: 'account_1', clientId: 'client_1', grantId: 'grant_1' };
    const { body } = await send(eventOf(type, { network: '192.0.2.1' }, members), 'ocsf');
    expect(body).toMatchObject(expected);
    // Entity Management has no such attribute.
    if (body.class_uid !== 3004) expect(body.src_endpoint).toEqual({ ip: '192.0.2.1' });
    expect(body.unmapped.network).toBe('192.0.2.1');
    expect(body.metadata.correlation_uid).toBe('grant_1');
  });

  it('a call through the gateway names tool, server, decision and duration', async () => {
    const details = {
      ...{ server: '/mcp', method: 'tools/call', tool: 'send', decision: 'denied', outcome: 'refused' },
      ...{ status: 403, duration: 1.6, reason: 'a rule', site: '2001:db8::/64' },
    };
    const { body } = await send(eventOf('call.finished', details), 'ocsf');
    expect(body).toMatchObject({
      ...{ class_uid: 6003, activity_id: 99, status_id: 2, status_detail: 'a rule', duration: 2 },
      api: { operation: 'tools/call', service: { name: '/mcp' } },
      resources: [{ type: 'tool', name: 'send' }],
      status_code: '403',
      src_endpoint: { name: '2001:db8::/64' },
      unmapped: { decision: 'denied' },
    });
    const read = { ...details, method: 'resources/read', decision: 'allowed', outcome: 'answered' };
    expect((await send(eventOf('call.finished', read), 'ocsf')).body).toMatchObject({
      activity_id: 2,
      status_id: 1,
    });
  });
});

/** Messages by the names of their JSON encoding; `*` is repeated. @see opentelemetry-proto 1.9, logs.proto and common.proto */
const OTLP: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ExportLogsServiceRequest: { resourceLogs: 'ResourceLogs*' },
  ResourceLogs: { resource: 'Resource', scopeLogs: 'ScopeLogs*', schemaUrl: 'string' },
  Resource: { attributes: 'KeyValue*', droppedAttributesCount: 'number' },
  ScopeLogs: { scope: 'InstrumentationScope', logRecords: 'LogRecord*', schemaUrl: 'string' },
  InstrumentationScope: {
    name: 'string',
    version: 'string',
    attributes: 'KeyValue*',
    droppedAttributesCount: 'number',
  },
  LogRecord: {
    timeUnixNano: 'fixed64', observedTimeUnixNano: 'fixed64', severityNumber: 'severity', severityText: 'string', body: 'AnyValue',
    attributes: 'KeyValue*', droppedAttributesCount: 'number', flags: 'number', traceId: 'trace', spanId: 'string', eventName: 'string',
  }, // biome-ignore format: a table
  KeyValue: { key: 'string', value: 'AnyValue' },
  AnyValue: {
    stringValue: 'string', boolValue: 'boolean', intValue: 'fixed64', doubleValue: 'number', arrayValue: 'ArrayValue', bytesValue: 'string',
  }, // biome-ignore format: a table
  ArrayValue: { values: 'AnyValue*' },
};

const SCALARS: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  // 64-bit integers are decimal strings in JSON.
  fixed64: (value) => typeof value === 'string' && /^\d+$/.test(value),
  severity: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 24,
  trace: (value) => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value),
};

/** @returns what the protocol does not have, by its path */
function otlpIssues(value: unknown, type: string, at: string): readonly string[] {
  if (type.endsWith('*'))
    return Array.isArray(value)
      ? value.flatMap((one, index) => otlpIssues(one, type.slice(0, -1), `${at}.${index}`))
      : [`${at} is no array`];
  const message = OTLP[type];
  if (message === undefined) return SCALARS[type]?.(value) === true ? [] : [`${at} is no ${type}`];
  return Object.entries(value as object).flatMap(([name, member]) =>
    message[name] === undefined ? [`${at}.${name}`] : otlpIssues(member, message[name], `${at}.${name}`),
  );
}

describe('OTLP', () => {
  it('an event is a log record, of the trace of its request', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const details = { traceId, reason: 'no', scopes: ['a', 'b'], values: { a: 1 }, count: 2, isNew: true };
    const { body, headers } = await send(
      eventOf('request.rejected', details, { clientId: 'client_1' }),
      'otlp',
    );
    expect(headers.get('authorization')).toBe('Bearer of the receiver');
    const [{ scopeLogs, resource }] = body.resourceLogs;
    expect(resource.attributes).toEqual([{ key: 'service.name', value: { stringValue: 'portcullis' } }]);
    const [record] = scopeLogs[0].logRecords;
    expect(record).toMatchObject({
      timeUnixNano: `${AT}000000`,
      severityNumber: 13,
      eventName: 'request.rejected',
      traceId,
    });
    expect(Object.fromEntries(record.attributes.map(({ key, value }: never) => [key, value]))).toEqual({
      'log.record.uid': { stringValue: expect.any(String) },
      clientId: { stringValue: 'client_1' },
      reason: { stringValue: 'no' },
      scopes: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } },
      values: { stringValue: '{"a":1}' },
      count: { doubleValue: 2 },
      isNew: { boolValue: true },
    });
  });

  it.each(types)('%s has the members of the protocol only, each of its type in JSON', async (type) => {
    const details = { traceId: '0af7651916cd43dd8448eb211c80319c', values: { a: 1 }, list: [1, 'a', true] };
    const { body } = await send(eventOf(type, details, { accountId: 'user_1' }), 'otlp');
    expect(otlpIssues(body, 'ExportLogsServiceRequest', '')).toEqual([]);
    const wrong = structuredClone(body);
    Object.assign(wrong.resourceLogs[0].scopeLogs[0].logRecords[0], {
      time_unix_nano: 1,
      severityNumber: 'x',
    });
    expect(otlpIssues(wrong, 'ExportLogsServiceRequest', '')).toHaveLength(2);
  });

  it('a record that the collector rejects with a status of success is rejected, for one reason whatever the text', async () => {
    for (const errorMessage of ['too old at 12:00:00', 'too old at 12:00:05']) {
      const partial = { partialSuccess: { rejectedLogRecords: '1', errorMessage } };
      const { attempt } = await send(eventOf('grant.revoked'), 'otlp', () => Response.json(partial));
      expect(attempt).toMatchObject({
        kind: 'rejected',
        reason: 'rejected by the collector, whose log says why',
      });
    }
    for (const body of ['{}', '{"partialSuccess":{}}', '', 'OK']) {
      const { attempt } = await send(eventOf('grant.revoked'), 'otlp', () => new Response(body));
      expect(attempt).toMatchObject({ kind: 'delivered' });
    }
  });
});
