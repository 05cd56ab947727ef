/** Hostile input: every response is an OAuth error, nothing fails inside, and nothing is stored. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacters, webPath, webUrl } from '../../../tests/support/any-text.ts';
import { APP, createDocumentHost, documentOf } from './document-host.ts';
import { basic, startServer } from './server-under-test.ts';
import { requestOf } from './visitor.ts';

const ERRORS =
  /^(invalid_request|invalid_client|invalid_grant|invalid_scope|invalid_target|unauthorized_client|unsupported_grant_type|invalid_client_metadata|invalid_redirect_uri)$/;

const names = fc.constantFrom(
  'grant_type', 'client_id', 'client_secret', 'code', 'code_verifier', 'redirect_uri', 'refresh_token', 'scope', 'resource',
  'token', 'token_type_hint', 'client_assertion', '__proto__', 'constructor', 'toString',
); // biome-ignore format: one list
const values = fc.oneof(
  anyCharacters(60),
  fc.constantFrom('authorization_code', 'refresh_token', 'client_credentials', 'desktop', 'web', 'nightly', '', '\0', '..', 'a.b.c'),
  webUrl({ withQuery: true, withFragment: true }),
); // biome-ignore format: one list
const forms = fc.array(fc.tuple(names, values), { maxLength: 12 }).map((pairs) => new URLSearchParams(pairs));
const bodies = fc.oneof(forms.map(String), anyCharacters(), fc.uint8Array());
const authorization = fc.oneof(
  fc.constant(undefined),
  anyCharacters().map((text) => `Basic ${Buffer.from(text).toString('base64')}`),
  fc.stringMatching(/^[!-~]{0,40}$/).map((text) => `Basic ${text}`),
  fc.constant(basic('nightly', 'nightly-secret')['authorization']),
);

describe('the endpoints', () => {
  it.each(['/token', '/revoke', '/introspect'])(
    '[AS-TOK-67 AS-TOK-77] rejects any random form at %s',
    async (path) => {
      // With rate limits, many failed client authentications in one run are 429, which other tests verify.
      const { server, events } = await startServer({ rateLimits: false });
      const before = events.length;
      await fc.assert(
        fc.asyncProperty(bodies, authorization, async (body, header) => {
          const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' });
          if (header !== undefined) headers.set('authorization', header);
          const request = new Request(`https://as.example${path}`, {
            method: 'POST',
            headers,
            body: body as string,
          });
          const response = await server.handle(request);
          if (response.status === 200) return;
          const answer = (await response.json()) as { error: string; error_description: string };
          expect([400, 401, 413]).toContain(response.status);
          expect(answer.error).toMatch(ERRORS);
          expect(answer.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
        }),
        { numRuns: 500 },
      );
      expect(events.slice(before).filter(({ type }) => type === 'request.failed')).toEqual([]);
    },
  );

  it('[AS-DCR-60 AS-DCR-65] rejects or completes any random registration', async () => {
    const { server, events } = await startServer();
    const members = fc.constantFrom(
      'redirect_uris', 'grant_types', 'response_types', 'token_endpoint_auth_method', 'application_type', 'client_name',
      'client_uri', 'scope', 'contacts', 'jwks', 'jwks_uri', 'software_id', '__proto__',
    ); // biome-ignore format: one list
    const document = fc.oneof(
      fc.dictionary(members, fc.jsonValue({ maxDepth: 3 })),
      fc.record({ redirect_uris: fc.array(webUrl({ withFragment: true }), { maxLength: 3 }), client_name: anyCharacters() }),
      fc.jsonValue(),
    ); // biome-ignore format: one list
    await fc.assert(
      fc.asyncProperty(document, async (json) => {
        const headers = { 'content-type': 'application/json' };
        const request = new Request('https://as.example/register', {
          method: 'POST',
          headers,
          body: JSON.stringify(json),
        });
        const response = await server.handle(request);
        const answer = (await response.json()) as Record<string, unknown>;
        if (response.status === 201) expect(answer['client_id']).toMatch(/^client_/);
        else expect([response.status, answer['error']]).toEqual([400, expect.stringMatching(ERRORS)]);
      }),
      { numRuns: 500 },
    );
    expect(events.filter(({ type }) => type === 'request.failed')).toEqual([]);
  });

  it('survives any path and method', async () => {
    const { server } = await startServer();
    const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND');
    await fc.assert(
      fc.asyncProperty(webPath, method, async (path, verb) => {
        const response = await server.handle(
          new Request(`https://as.example${path.startsWith('/') ? '' : '/'}${path}`, { method: verb }),
        );
        expect(response.status).toBeLessThan(500);
      }),
    );
  });
});

describe('client documents', () => {
  const members = fc.constantFrom(
    'client_id', 'client_name', 'redirect_uris', 'grant_types', 'response_types', 'token_endpoint_auth_method', 'client_uri',
    'token_endpoint_auth_methods_supported', 'jwks', 'jwks_uri', 'client_secret', 'scope', 'contacts', '__proto__', 'toString',
  ); // biome-ignore format: one list
  const changes = fc.dictionary(members, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 });
  const documents = fc.oneof(
    changes.map((some) => JSON.stringify({ ...documentOf(), ...some })),
    fc.jsonValue().map((json) => JSON.stringify(json)),
    anyCharacters(),
    fc.uint8Array({ maxLength: 6000 }),
  );
  const types = fc.oneof(fc.constant('application/json'), fc.stringMatching(/^[ -~]{0,40}$/));
  const fields = fc.dictionary(
    fc.constantFrom('cache-control', 'age', 'expires', 'date', 'vary', 'etag', 'last-modified'),
    fc.oneof(
      fc.stringMatching(/^[ -~]{0,40}$/),
      fc.constantFrom('max-age=', 'max-age=1e9', 's-maxage="', '-1', '0', '*'),
    ),
  );

  it('[AS-CIMD-25 AS-CIMD-62] T051: accepts or rejects a client metadata document, whatever its host answers', async () => {
    const host = createDocumentHost();
    const { send, events, clock } = await startServer({ outbound: { fetch: host.fetch } });
    await fc.assert(
      fc.asyncProperty(
        documents,
        types,
        fields,
        fc.integer({ min: 200, max: 599 }),
        async (body, type, more, status) => {
          host.pages.set(APP, () => {
            const bodiless = [204, 205, 304].includes(status);
            const headers = { ...more, 'content-type': type };
            return new Response(bodiless ? null : (body as string), {
              status: status > 300 ? status : 200,
              headers,
            });
          });
          clock.now += 8 * 86_400;
          const answer = await send(requestOf({ client_id: APP }));
          expect([303, 400]).toContain(answer.status);
        },
      ),
      { numRuns: 500 },
    );
    expect(events.filter(({ type }) => type === 'request.failed')).toEqual([]);
  });

  it('[AS-CIMD-60] T047: fetches client metadata only from a canonical URL', async () => {
    const host = createDocumentHost();
    const { send, clock } = await startServer({ outbound: { fetch: host.fetch } });
    const parts = fc.constantFrom(
      'https://', 'http://', 'https:', '//', '/', '\\', '.', '..', '%2e', '@', ':', '443', '#', '?', 'a.example', 'A.example',
      '127.0.0.1', '[::1]', ' ', '\t', 'x', '%00', 'client.json', '\u0430', '*',
    ); // biome-ignore format: one list
    const ids = fc.oneof(
      fc.array(parts, { maxLength: 8 }).map((some) => `https://a.example/${some.join('')}`),
      fc.array(parts, { maxLength: 8 }).map((some) => some.join('')),
      webUrl({ withQuery: true, withFragment: true }),
    );
    await fc.assert(
      fc.asyncProperty(ids, async (id) => {
        host.asked.length = 0;
        clock.now += 60;
        const { status } = await send(requestOf({ client_id: id }));
        expect(status).toBe(400);
        if (host.asked.length === 0) return;
        const url = new URL(id);
        expect([url.href, url.protocol, url.username, url.password, url.hash]).toEqual([
          id,
          'https:',
          '',
          '',
          '',
        ]);
        expect(url.pathname).not.toBe('/');
        expect(id.split('?')[0]).not.toMatch(/[#\\]|\/\.{1,2}(\/|$)/);
        expect(host.asked).toEqual([id]);
      }),
      { numRuns: 1000 },
    );
  });
});
