/** `portcullis events` and /metrics, beside a running server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { respondJson } from '@portcullis/http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Portcullis, startPortcullis } from '../../../tests/support/portcullis.ts';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { createDatabaseMetrics } from '../src/server/metrics/database-metrics.ts';
import { createMetrics } from '../src/server/metrics/metrics.ts';
import { createMetricsHandler } from '../src/server/metrics/metrics-handler.ts';
import { formatMetrics } from '../src/server/metrics/prometheus-exposition.ts';
import { respondNotFound } from '../src/server/path-handler.ts';
import { runHere } from './support/in-process.ts';

const main = fileURLToPath(new URL('../bin.js', import.meta.url));
const command = [...sourceFlags(), main, 'events'];

let portcullis: Portcullis;
beforeAll(async () => {
  portcullis = await startPortcullis();
});
afterAll(() => portcullis.stop());

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
});

async function run(...args: readonly string[]): Promise<string> {
  const { code, output } = await here(...args);
  expect(code).toBe(0);
  return output;
}

const here = (...args: readonly string[]) =>
  runHere(['events', ...args], {
    environment: { PORTCULLIS_DATABASE: portcullis.database },
    folder: tmpdir(),
  });

function refuse(): Promise<Response> {
  return fetch(`${portcullis.url}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', client_id: 'unknown' }),
  });
}

describe('portcullis events', () => {
  it('`events` shows the audit log as text and as JSON', async () => {
    expect((await refuse()).status).toBe(401);
    await expect
      .poll(() => run())
      .toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d request\.rejected endpoint=\/token /m);
    const lines = (await run('--json', '--last', '1')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ type: 'request.rejected', error: 'invalid_client', network: '127.0.0.1' }),
    ]);
  });

  it('`events` explains that no event has the given transaction ID or reference', async () => {
    expect(await here('--flow', 'flow_unknown')).toEqual({
      code: 1,
      output: '',
      errors:
        'portcullis: no event has the transactionId flow_unknown, or it has been deleted by retention: try --last or --reference\n',
    });
    expect(await here('--reference', 'zzzzzzzz')).toEqual({
      code: 1,
      output: '',
      errors: 'portcullis: no event has the reference ZZZZ-ZZZZ, or it has been deleted by retention\n',
    });
    expect(await here('--last', '0')).toEqual({ code: 0, output: '', errors: '' });
    expect((await here('--help')).output).toMatch(
      /--flow <id>\s+all events of one authorization transaction/,
    );
  });

  it('`events --reference` explains a rejected redirect URI, and an expired authorization request', async () => {
    const redirect_uris = ['https://app.example/callback', 'https://app.example/other'];
    const registered = await fetch(`${portcullis.url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris, token_endpoint_auth_method: 'none' }),
    });
    const { client_id: clientId } = (await registered.json()) as { client_id: string };
    const query = (redirectUri: string) =>
      new URLSearchParams({
        ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, state: 'state' },
        ...{ code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' },
      });
    const referenceOn = async (response: Response) =>
      /<code>([2-9A-Z]{4}-[2-9A-Z]{4})<\/code>/.exec(await response.text())?.[1] ?? '';
    const wrong = await fetch(`${portcullis.url}/authorize?${query('https://app.example/wrong')}`);
    const reference = await referenceOn(wrong);
    await expect.poll(() => run('--reference', reference)).toContain(`clientId=${clientId}`);
    const explained = await run('--reference', reference);
    for (const uri of ['https://app.example/wrong', ...redirect_uris]) expect(explained).toContain(uri);

    const started = await fetch(`${portcullis.url}/authorize?${query(redirect_uris[0] ?? '')}`, {
      redirect: 'manual',
    });
    const location = new URL(started.headers.get('location') ?? '', portcullis.url);
    // Without its cookie, as in another browser.
    const other = await referenceOn(await fetch(location));
    await expect.poll(() => run('--reference', other)).toContain('request.rejected');
    expect(await run('--reference', other)).toMatch(
      /authorization\.started [^\n]*clientId=client_[^\n]*\n[^\n]*request\.rejected [^\n]*did not send the cookie/,
    );
  });

  it('`events --follow` prints new events', async () => {
    const args = [...command, '--database', portcullis.database, '--follow', '--json', '--last', '0'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.add(child);
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await expect
      .poll(
        async () => {
          await refuse();
          return output;
        },
        { interval: 300 },
      )
      .toContain('"type":"request.rejected"');
    const ids = output.trimEnd().split('\n');
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('/metrics', () => {
  it('/metrics counts events and responses, for programs on this computer', async () => {
    await refuse();
    const response = await fetch(`${portcullis.url}/metrics`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('version=0.0.4');
    const text = await response.text();
    expect(text).toMatch(
      /^portcullis_events_total\{type="request\.rejected",error="invalid_client",endpoint="\/token"\} [1-9]/m,
    );
    expect(text).toMatch(/^portcullis_http_responses_total\{path="\/token",status="401"\} [1-9]/m);
    expect(text).toMatch(
      /^portcullis_http_response_duration_seconds_bucket\{path="\/token",le="\+Inf"\} [1-9]/m,
    );
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    for (const line of text.trimEnd().split('\n')) {
      expect(line).toMatch(/^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? [\d.e+-]+)$/);
    }
  });

  const askOverTheNetwork = (path: string, headers: Readonly<Record<string, string>>) =>
    new Promise((resolve, reject) => {
      const { port } = new URL(portcullis.url);
      request({ port, host: '127.0.0.1', path, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });

  it('/metrics responds with 404 to requests through a tunnel, whatever their target', async () => {
    const whole = 'http://localhost/metrics';
    expect(await askOverTheNetwork('/metrics', { host: 'as.example' })).toBe(404);
    expect(await askOverTheNetwork(whole, { host: 'as.example' })).toBe(404);
    expect(await askOverTheNetwork('http://as.example/metrics', { host: 'localhost' })).toBe(404);
    expect(await askOverTheNetwork('/metrics', { host: 'localhost', via: '1.1 proxy' })).toBe(404);
    expect(await askOverTheNetwork(whole, { host: 'localhost' })).toBe(200);
  });

  const HERE = 'http://localhost:8484';
  const ELSEWHERE = 'https://as.example';
  const ask = (
    url: string,
    security: 'loopback' | 'cleartext' | 'tls',
    token: string | null,
    headers: Readonly<Record<string, string>> = {},
    issuer = url.startsWith('https:') ? ELSEWHERE : HERE,
  ) =>
    createMetricsHandler(
      createMetrics('/mcp', () => 0, createDatabaseMetrics()).families,
      token,
      issuer,
    )(new Request(url, { headers: { host: new URL(url).host, ...headers } }), { security });
  it('/metrics requires a token if the server has a public URL', async () => {
    const asked = [`${HERE}/metrics`, 'loopback'] as const;
    expect((await ask(...asked, null, {}, HERE)).status).toBe(200);
    expect((await ask(...asked, null, {}, ELSEWHERE)).status).toBe(404);
    expect((await ask(...asked, 'token', { authorization: 'Bearer token' }, ELSEWHERE)).status).toBe(200);
  });

  it.each([
    ['http://localhost:1/metrics', 'loopback', null, {}, 200],
    ['http://[::1]:1/metrics', 'loopback', null, {}, 200],
    ['http://localhost:1/metrics', 'loopback', null, { 'x-forwarded-for': '192.0.2.1' }, 404],
    ['http://localhost:1/metrics', 'loopback', null, { forwarded: 'for=192.0.2.1' }, 404],
    ['http://localhost:1/metrics', 'loopback', null, { 'x-forwarded-proto': 'http' }, 404],
    ['http://localhost:1/metrics', 'loopback', null, { 'x-real-ip': '192.0.2.1' }, 404],
    ['http://localhost:1/metrics', 'loopback', null, { via: '1.1 tunnel' }, 404],
    ['http://localhost:1/metrics', 'loopback', null, { host: 'abc.tunnel.example' }, 404],
    ['http://localhost:1/metrics', 'loopback', null, { host: '' }, 404],
    ['http://localhost:1/metrics', 'cleartext', null, {}, 404],
    ['https://as.example/metrics', 'tls', null, {}, 404],
    ['https://as.example/metrics', 'tls', 'token', {}, 404],
    ['https://as.example/metrics', 'tls', 'token', { authorization: 'Bearer other' }, 404],
    ['https://as.example/metrics', 'tls', 'token', { authorization: 'Bearer token' }, 200],
    ['http://localhost:1/metrics', 'loopback', 'token', {}, 404],
  ] as const)(
    '/metrics at %s, over %s, with token %s and %j responds with %i',
    async (url, security, token, headers, status) => {
      expect((await ask(url, security, token, headers)).status).toBe(status);
    },
  );

  it('/metrics responds to unauthorized requests as to an unknown path', async () => {
    const rejected = await ask('https://as.example/metrics', 'tls', 'token');
    expect(rejected).toEqual(respondNotFound());
  });

  it('/metrics labels known paths and counts all others together', async () => {
    const metrics = createMetrics('/mcp', () => 0, createDatabaseMetrics());
    const answer = metrics.measure(async () => respondJson({}));
    for (const path of ['/token', '/mcp/x', '/.well-known/x', '/a', '/b'])
      await answer(new Request(`${HERE}${path}`), { security: 'loopback' });
    const told = formatMetrics(metrics.families()).match(/^portcullis_http_responses_total.+$/gm);
    expect(told?.map((line) => /path="([^"]+)".* (\d+)$/.exec(line)?.slice(1))).toEqual([
      ['/token', '1'],
      ['/mcp', '1'],
      ['/.well-known/*', '1'],
      ['other', '2'],
    ]);
  });

  it('/metrics bounds the number of its series', () => {
    const metrics = createMetrics('/mcp', () => 0, createDatabaseMetrics());
    for (let count = 0; count < 5000; count++) metrics.count({ type: 'x', error: `e${count}` });
    expect(formatMetrics(metrics.families()).match(/^portcullis_events_total/gm)).toHaveLength(1000);
  });
});

it('the event loop lag is that since the last scrape, so a stall is visible once', async () => {
  const metrics = createMetrics(null, () => 0, createDatabaseMetrics());
  const scrape = () =>
    Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(formatMetrics(metrics.families()))?.[1]);
  const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
  await expect
    .poll(async () => {
      await pause();
      const until = performance.now() + 300;
      while (performance.now() < until);
      // The timer that measures comes first.
      await pause();
      return scrape();
    })
    .toBeGreaterThan(0.2);
  await expect.poll(scrape).toBeLessThan(0.2);
});
