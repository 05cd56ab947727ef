/** Security headers of application responses, also of those that they proxy. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addSecurityHeaders } from '../src/index.ts';

/** A server behind the application: compressed where that is wanted, with two cookies. */
async function startBehind(): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    if (incoming.url === '/nothing') return void outgoing.writeHead(204).end();
    const body = gzipSync('ü'.repeat(1000));
    outgoing.writeHead(
      200,
      [
        ['content-type', 'text/plain; charset=utf-8'],
        ['content-encoding', 'gzip'],
        ['content-length', String(body.length)],
        ['referrer-policy', 'same-origin'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ].flat(),
    );
    outgoing.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the response of an application', () => {
  it('a response from fetch is passed on decoded, without hop-by-hop headers, with security headers', async () => {
    const got = await fetch(await startBehind());
    const passed = addSecurityHeaders(got, true);
    expect(await passed.text()).toBe('ü'.repeat(1000));
    for (const name of ['content-encoding', 'content-length', 'connection', 'keep-alive'])
      expect(passed.headers.has(name)).toBe(false);
    expect(passed.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    // What it says itself stands.
    expect(passed.headers.get('referrer-policy')).toBe('same-origin');
    expect(passed.headers.get('x-content-type-options')).toBe('nosniff');
    expect(passed.headers.get('strict-transport-security')).toMatch(/^max-age=\d+$/);
  });

  it('a response without a body is passed on without one', async () => {
    const passed = addSecurityHeaders(await fetch(`${await startBehind()}/nothing`), false);
    expect([passed.status, passed.body, passed.headers.get('referrer-policy')]).toEqual([
      204,
      null,
      'no-referrer',
    ]);
  });

  it('an immutable response is copied to add security headers', () => {
    const passed = addSecurityHeaders(Response.redirect('https://app.example/there', 303), false);
    expect([
      passed.status,
      passed.headers.get('location'),
      passed.headers.get('x-content-type-options'),
    ]).toEqual([303, 'https://app.example/there', 'nosniff']);
  });

  it('a response created by the application keeps its length and content encoding', () => {
    const made = new Response(gzipSync('x'), {
      headers: { 'content-encoding': 'gzip', 'content-length': '21' },
    });
    const passed = addSecurityHeaders(made, false);
    expect(passed).toBe(made);
    expect(passed.headers.get('content-encoding')).toBe('gzip');
    expect(passed.headers.get('referrer-policy')).toBe('no-referrer');
  });
});
