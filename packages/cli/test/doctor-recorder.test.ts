/** What `portcullis doctor` records of requests and responses, for reports that are passed on. */
import { expect, it } from 'vitest';
import { createRecorder } from '../src/doctor/recorder.ts';

async function record(url: string, init: RequestInit, response: Response) {
  const recorder = createRecorder(() => 'call');
  await recorder.record(async () => response)(url, init);
  const [exchange] = recorder.exchanges;
  return exchange;
}

it.each([
  [
    'https://as.example/authorize',
    'http://127.0.0.1:9/callback?code=SECRET&state=s&iss=https%3A%2F%2Fas.example',
  ],
  ['https://as.example/authorize', '/next?access_token=SECRET'],
])('doctor hides secrets in the redirect of %s to %s', async (url, location) => {
  const exchange = await record(url, {}, new Response(null, { status: 302, headers: { location } }));
  expect(JSON.stringify(exchange)).not.toContain('SECRET');
  const shown = new URL(exchange?.headers['location'] ?? '', url);
  expect([...shown.searchParams.values()]).toContain('(hidden)');
  expect(shown.pathname).toBe(new URL(location, url).pathname);
});

it.each(['/mcp/', 'https://other.example/mcp?tenant=1', 'http://[', ''])(
  'doctor shows a redirect to %j as it is',
  async (location) => {
    const response = new Response(null, { status: 302, headers: { location } });
    const exchange = await record('https://mcp.example/mcp', {}, response);
    expect(exchange?.headers['location']).toBe(location);
  },
);

it('doctor hides the identifier of a session, with which others could join it', async () => {
  const headers = { 'mcp-session-id': 'SECRET', 'mcp-protocol-version': '2025-11-25' };
  const exchange = await record('https://mcp.example/mcp', { headers }, new Response('{}', { headers }));
  expect(JSON.stringify(exchange)).not.toContain('SECRET');
  expect(exchange?.headers).toMatchObject({
    'mcp-session-id': '(hidden)',
    'mcp-protocol-version': '2025-11-25',
  });
});

it.each(['sessionId', 'session_id'])(
  'doctor hides the %s of a message endpoint of HTTP+SSE',
  async (name) => {
    const exchange = await record(`https://mcp.example/messages?${name}=SECRET&tenant=1`, {}, new Response());
    expect(new URL(exchange?.url ?? '').search).toBe(`?${name}=%28hidden%29&tenant=1`);
  },
);

it.each([
  ['shows JSON', 2, '[\n  []\n]'],
  ['shows only the size of JSON that nests too deeply', 20_000, '(40000 characters of application/json)'],
])('doctor %s', async (_what, depth, shown) => {
  const headers = { 'content-type': 'application/json' };
  const body = `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const exchange = await record('https://mcp.example/mcp', {}, new Response(body, { headers }));
  expect(exchange?.body).toBe(shown);
});
