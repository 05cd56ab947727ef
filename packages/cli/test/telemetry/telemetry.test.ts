/** `portcullis up` with a collector: what its requests leave there, decoded from the bytes that arrive. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from '../../../../tests/support/otlp-receiver.ts';
import { startPortcullisHere } from '../../../../tests/support/portcullis-here.ts';
import { sourceFlags } from '../../../../tests/support/source-flags.ts';
import { main } from '../support/command.ts';

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
const SECRET = 'a-secret-that-no-span-has';

let collector: OtlpReceiver;
let output = '';
let page = '';
let plainPage = '';

/** Requests of any caller, with a trace context and secrets. */
async function send(url: string): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'authorization_code', client_id: 'unknown', code: SECRET });
  const headers = { traceparent: TRACEPARENT, tracestate: 'vendor=1', authorization: `Bearer ${SECRET}` };
  await fetch(`${url}/token?secret=${SECRET}`, { method: 'POST', body, headers });
  return (await fetch(`${url}/authorize?client_id=${SECRET}`, { headers: { accept: 'text/html' } })).text();
}

beforeAll(async () => {
  collector = await startOtlpReceiver();
  const headers = { 'x-collector-key': 'key of the collector' };
  const traced = await startPortcullisHere({ otlp: { url: `${collector.url}/`, headers } });
  page = await send(traced.url);
  await traced.stop();
  output = traced.output();
  const plain = await startPortcullisHere();
  plainPage = await send(plain.url);
  await plain.stop();
  output += plain.output();
});

afterAll(() => collector.close());

const named = (name: string): ReceivedSpan => {
  const found = collector.spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name}: ${collector.spans.map((span) => span.name)}`);
  return found;
};

describe('a span', () => {
  it('measures each endpoint, as the semantic conventions name it', () => {
    expect(named('POST /token')).toMatchObject({
      kind: 2n,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/token',
        'http.response.status_code': 401,
      },
    });
  });

  it('measures the operations of the store that a request waits for', () => {
    const { traceId, spanId } = named('GET /authorize');
    expect(named('store findClient')).toMatchObject({
      kind: 3n,
      attributes: { 'db.operation.name': 'findClient' },
    });
    expect(collector.spans).toContainEqual(
      expect.objectContaining({ name: expect.stringMatching(/^store /), traceId, parentSpanId: spanId }),
    );
  });

  it('of a public endpoint is linked to the trace of its caller, and no part of it', () => {
    const { traceId, parentSpanId, links, traceState } = named('POST /token');
    expect(links).toMatchObject([CALLER]);
    expect([traceId === CALLER.traceId, parentSpanId, traceState]).toEqual([false, '', '']);
    expect(named('GET /authorize').links).toEqual([]);
  });

  it('has no secret, code or token, nor a query', () => {
    const text = JSON.stringify(collector.spans, (_, value) =>
      typeof value === 'bigint' ? Number(value) : value,
    );
    expect(text).not.toContain(SECRET);
    expect(text).toContain('/token');
  });

  it('is sent with the headers of the setting, by a resource that names this process', () => {
    expect(collector.headers.every((one) => one.get('x-collector-key') === 'key of the collector')).toBe(
      true,
    );
    expect(collector.resource).toMatchObject({
      'service.name': 'portcullis',
      'service.version': expect.any(String),
    });
  });
});

describe('the trace identifier', () => {
  it('is in the events of a request, and on its error page', () => {
    const { traceId } = named('GET /authorize');
    expect(output).toMatch(new RegExp(`request.rejected .*traceId=${named('POST /token').traceId}`));
    expect(output).toContain(`traceId=${traceId}`);
    expect(page).toContain(`Trace <code>${traceId}</code>`);
  });

  it('is nowhere without a collector', () => {
    expect(plainPage).toContain('Reference <code>');
    expect(plainPage).not.toContain('Trace <code>');
    expect(output.match(/request\.rejected/g)).toHaveLength(4);
    expect(output.match(/traceId=/g)).toHaveLength(2);
  });
});

describe('the metrics of /metrics', () => {
  const metric = (name: string) => collector.metrics.findLast((one) => one.name === name);

  it('arrive under their names, with their labels', () => {
    expect(metric('portcullis_http_responses_total')).toMatchObject({ kind: 'sum' });
    expect(metric('portcullis_http_responses_total')?.points).toContainEqual(
      expect.objectContaining({ attributes: { path: '/token', status: '401' }, value: 1 }),
    );
    expect(metric('process_resident_memory_bytes')).toMatchObject({ kind: 'gauge' });
  });

  it('arrive as histograms, whose buckets add up to the count', () => {
    const { points = [] } = metric('portcullis_http_response_duration_seconds') ?? {};
    const point = points.find(({ attributes }) => JSON.stringify(attributes) === '{"path":"/token"}');
    expect(point).toMatchObject({
      count: 1n,
      bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10],
    });
    const buckets = point?.['buckets'] as readonly bigint[];
    expect([buckets.length, buckets.reduce((sum, count) => sum + count)]).toEqual([13, 1n]);
  });
});

it('counts and logs the spans that the collector does not accept, and serves all the same', async () => {
  const rejecting = await startOtlpReceiver();
  rejecting.status = 400;
  const portcullis = await startPortcullisHere({ otlp: rejecting.url });
  expect((await fetch(`${portcullis.url}/.well-known/oauth-authorization-server`)).status).toBe(200);
  await expect.poll(portcullis.output).toContain('otlp.failed');
  const exposed = await (await fetch(`${portcullis.url}/metrics`)).text();
  expect(exposed).toMatch(/^portcullis_otlp_spans_total\{outcome="lost"\} [1-9]/m);
  rejecting.status = 200;
  await fetch(`${portcullis.url}/.well-known/oauth-authorization-server`);
  await portcullis.stop();
  await rejecting.close();
  expect(portcullis.output()).toContain('otlp.recovered');
  expect(rejecting.spans).toHaveLength(1);
});

it('traces the fraction of requests that the setting says, whatever a caller wants', async () => {
  const receiver = await startOtlpReceiver();
  const portcullis = await startPortcullisHere({ otlp: { url: receiver.url, sampling: 0 } });
  await send(portcullis.url);
  await portcullis.stop();
  await receiver.close();
  expect(receiver.spans).toEqual([]);
  expect(receiver.metrics).not.toEqual([]);
});

it('says what to install when a package is missing', async () => {
  const hook = `import { registerHooks } from 'node:module';
    registerHooks({ resolve(name, context, next) {
      if (!name.startsWith('@opentelemetry/')) return next(name, context);
      throw Object.assign(new Error('not there'), { code: 'ERR_MODULE_NOT_FOUND' });
    } });`;
  const { peerDependencies } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  const names = Object.entries(peerDependencies).map(([name, range]) => `${name}@${range}`);
  const flags = [...sourceFlags(), '--import', `data:text/javascript,${encodeURIComponent(hook)}`];
  const settings = ['up', '--otlp', 'http://127.0.0.1:4318', '--port', '0', '--database', ':memory:'];
  const app = ['--app', fileURLToPath(new URL('../../../../bench/servers/application.ts', import.meta.url))];
  const { status, stderr } = spawnSync(process.execPath, [...flags, main, ...settings, ...app], {
    encoding: 'utf8',
  });
  expect(status).not.toBe(0);
  expect(stderr).toContain(
    `--otlp needs packages that are not installed. Install them: npm install ${names.join(' ')}`,
  );
});
