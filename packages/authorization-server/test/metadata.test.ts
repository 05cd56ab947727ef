/** Authorization server metadata (RFC 8414): served wherever clients look, and accurate. */
import { profileA, profileB, profiles, serverMetadataUrls } from '@portcullis/protocol';
import { readAuthorizationServerMetadata } from '@portcullis/protocol/documents';
import { describe, expect, it } from 'vitest';
import { CALLBACK, claimsOf, ISSUER, startServer } from './server-under-test.ts';

const OAUTH = '/.well-known/oauth-authorization-server';
const OIDC = '/.well-known/openid-configuration';

const METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'];
const ALGORITHMS = ['ES256', 'ES384', 'EdDSA', 'Ed25519', 'PS256', 'RS256'];

/** The expected content of both documents. */
const described = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  registration_endpoint: `${ISSUER}/register`,
  revocation_endpoint: `${ISSUER}/revoke`,
  introspection_endpoint: `${ISSUER}/introspect`,
  jwks_uri: `${ISSUER}/jwks`,
  scopes_supported: ['notes:read', 'notes:write', 'files:read'],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
  token_endpoint_auth_methods_supported: METHODS,
  token_endpoint_auth_signing_alg_values_supported: ALGORITHMS,
  revocation_endpoint_auth_methods_supported: METHODS,
  revocation_endpoint_auth_signing_alg_values_supported: ALGORITHMS,
  revocation_leaves_other_grants: true,
  introspection_endpoint_auth_methods_supported: METHODS.slice(1),
  introspection_endpoint_auth_signing_alg_values_supported: ALGORITHMS,
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
};

describe('the metadata documents', () => {
  it('[AS-META-1 AS-META-2 AS-META-3 AS-META-6 AS-META-8 AS-META-61 AS-META-62 AS-META-63 AS-META-64 AS-META-65 AS-META-67 AS-DCR-1 AS-CIMD-29 X-CC-4 X-CC-5] serves metadata at the well-known URL', async () => {
    const { send } = await startServer();
    const { status, headers, body } = await send(OAUTH);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(body).toMatchObject(described);
    expect(readAuthorizationServerMetadata(body)).toEqual({ document: body });
  });

  it('[AS-META-70 AS-PKCE-20 AS-META-20] serves metadata for OpenID clients', async () => {
    const { send } = await startServer();
    const { status, body } = await send(OIDC);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...described,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    });
  });

  it('[AS-META-72 ALL-HTTP-60] metadata needs no credentials, is cacheable, and answers HEAD', async () => {
    const { send } = await startServer();
    for (const path of [OAUTH, OIDC]) {
      const [got, head] = [await send(path), await send(path, { method: 'HEAD' })];
      expect(got.headers.get('cache-control')).toBe('public, max-age=300');
      expect([head.status, head.text]).toEqual([200, '']);
      expect([...head.headers]).toEqual([...got.headers]);
    }
  });

  it('[AS-META-5] serves metadata to any protocol version, and to none', async () => {
    const { send } = await startServer();
    const versions = [...profiles.map(({ revision }) => revision), '1999-12-31', 'nonsense'];
    for (const name of ['Ctx-Protocol-Version', 'MCP-Protocol-Version']) {
      for (const version of versions) {
        const { status, body } = await send(OAUTH, { headers: { [name]: version } });
        expect([status, body['issuer']]).toEqual([200, ISSUER]);
      }
    }
  });

  it.each([
    { version: '2025-03-26', told: false },
    { version: '2025-06-18', told: false },
    { version: '2025-11-25', told: true },
    { version: '2026-07-28', told: true },
    { version: '1999-12-31', told: true },
    { version: null, told: true },
  ])(
    '[AS-META-5] advertises metadata documents to version $version: $told; caches keep versions apart',
    async (row) => {
      const { send } = await startServer();
      for (const name of ['Ctx-Protocol-Version', 'MCP-Protocol-Version']) {
        const { headers, body } = await send(
          OAUTH,
          row.version === null ? {} : { headers: { [name]: row.version } },
        );
        expect(headers.get('vary')).toBe('MCP-Protocol-Version, Ctx-Protocol-Version');
        expect('client_id_metadata_document_supported' in body).toBe(row.told);
        expect(body['registration_endpoint']).toBe(described.registration_endpoint);
      }
    },
  );

  it('[AS-META-67 AS-META-71] metadata has no null and no empty list', async () => {
    const { send } = await startServer({
      resources: [{ resource: 'https://mcp.example', name: 'Open', scopes: {} }],
    });
    const { body } = await send(OAUTH);
    expect(body).not.toHaveProperty('scopes_supported');
    for (const value of Object.values(body))
      expect(value === null || (Array.isArray(value) && value.length === 0)).toBe(false);
  });

  it.each([
    ['https://as.example', `${ISSUER}${OAUTH}`],
    ['https://as.example/', `${ISSUER}${OAUTH}`],
    ['https://as.example:8443', `https://as.example:8443${OAUTH}`],
    ['https://as.example/t1', `${ISSUER}${OAUTH}/t1`],
    ['https://as.example/t1/', `${ISSUER}${OAUTH}/t1`],
    ['http://localhost:8484', `http://localhost:8484${OAUTH}`],
  ])(
    '[AS-META-60 AS-META-68 AS-META-8] T063 metadata names the issuer %s byte for byte, everywhere',
    async (issuer, first) => {
      const { server, signIn } = await startServer({ issuer });
      const places = serverMetadataUrls(issuer, ['oauth', 'oidc']);
      expect(places[0]).toBe(first);
      const { origin, pathname } = new URL(issuer);
      const appended = `${origin}${pathname.replace(/\/$/, '')}${OAUTH}`;
      for (const url of [...places, appended, `${origin}${OAUTH}`, `${origin}${OIDC}`]) {
        const response = await server.handle(new Request(url));
        expect(await response.json()).toMatchObject({ issuer, token_endpoint: `${origin}/token` });
      }
      expect(claimsOf((await signIn()).body['access_token'])['iss']).toBe(issuer);
    },
  );

  it.each([
    { host: 'evil.example' },
    { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' },
    { forwarded: 'host=evil.example;proto=http' },
  ])('[ALL-HTTP-62] T059 metadata ignores %o', async (headers) => {
    const { server, send } = await startServer();
    const first = await server.handle(
      new Request('http://evil.example:81/.well-known/oauth-authorization-server', { headers }),
    );
    expect(await first.text()).not.toContain('evil.example');
    expect((await send(OAUTH)).body).toMatchObject(described);
    expect((await send(OIDC)).body).toMatchObject(described);
  });

  it('[ALL-HTTP-62] T059 URLs in responses and pages ignore Host and forwarded headers', async () => {
    const { server } = await startServer();
    const evil = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
    const registered = await server.handle(
      new Request('http://evil.example:81/register', {
        method: 'POST',
        headers: { ...evil, 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' }),
      }),
    );
    const { client_id: id, ...rest } = (await registered.json()) as Record<string, unknown>;
    expect(rest['registration_client_uri']).toBe(`${ISSUER}/register/${id}`);
    expect(JSON.stringify([rest, ...registered.headers])).not.toContain('evil.example');
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: String(id),
      redirect_uri: CALLBACK,
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    });
    const begun = await server.handle(
      new Request(`http://evil.example:81/authorize?${query}`, { headers: evil }),
    );
    expect([begun.status, begun.headers.get('location')]).toEqual([303, expect.stringMatching(/^\/login\?/)]);
    expect(JSON.stringify([...begun.headers])).not.toContain('evil.example');
  });
});

describe('accurate metadata', () => {
  it('[AS-META-66 AS-GRANT-1 AS-TOK-68] T062 metadata lists exactly the endpoints and grant types that exist', async () => {
    const { send, post } = await startServer();
    const { body } = await send(OAUTH);
    for (const [name, url] of Object.entries(body).filter(([key]) => /_endpoint$|^jwks_uri$/.test(key))) {
      expect([name, (await send(String(url), { method: 'OPTIONS' })).status]).toEqual([name, 204]);
    }
    const asked = [
      ...(body['grant_types_supported'] as string[]),
      'password',
      'implicit',
      'urn:ietf:params:oauth:grant-type:device_code',
    ];
    const refused = await Promise.all(
      asked.map(
        async (grant_type) => (await post('/token', { grant_type, client_id: 'desktop' })).body['error'],
      ),
    );
    expect(refused.map((error) => error === 'unsupported_grant_type')).toEqual([
      false,
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  it('[AS-META-66 AS-DCR-20] T062 metadata omits registration when it is off, and so does the router', async () => {
    const { send, register } = await startServer({ registration: false });
    expect((await send(OAUTH)).body).not.toHaveProperty('registration_endpoint');
    expect((await register({ redirect_uris: ['https://app.example/cb'] })).status).toBe(404);
  });

  it.each([
    { served: [profileA], oidc: 404 },
    { served: [profileA, profileB], oidc: 404 },
    { served: profiles, oidc: 200 },
  ])(
    '[ALL-VER-1] T062 metadata follows the configured profiles: $served.length',
    async ({ served, oidc }) => {
      const { send } = await startServer({ profiles: served });
      expect((await send(OIDC)).status).toBe(oidc);
      expect((await send(OAUTH)).status).toBe(200);
    },
  );

  it.each([[profileA], profiles])(
    '[AS-ISS-31] T062 metadata says that responses carry iss, and they do',
    async (...served) => {
      const { send } = await startServer({ profiles: served });
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: 'web',
        redirect_uri: CALLBACK,
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
        prompt: 'none',
      });
      expect((await send(OAUTH)).body['authorization_response_iss_parameter_supported']).toBe(true);
      const answer = await send(`/authorize?${query}`);
      const shown = `${answer.headers.get('location') ?? ''} ${answer.text}`;
      expect(shown).toContain(`iss=${encodeURIComponent(ISSUER)}`);
    },
  );
});

describe('a server without metadata', () => {
  it.each([OAUTH, `${OAUTH}/mcp`, OIDC, `${OIDC}/mcp`])(
    '[AS-META-7 AS-META-9] a server without metadata answers %s with 404 JSON',
    async (path) => {
      const { send, server } = await startServer({ metadata: false });
      const { status, headers, body } = await send(path, { headers: { origin: 'https://app.example' } });
      expect(status).toBe(404);
      expect(body['error']).toBe('invalid_request');
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(server.owns(path)).toBe(true);
    },
  );

  it('[AS-FALLBACK-1 AS-FALLBACK-3 AS-FALLBACK-4 AS-FALLBACK-5] a server without metadata works on the default paths at its root', async () => {
    const { post, register, signIn } = await startServer({ metadata: false, issuer: `${ISSUER}/v1/mcp` });
    expect((await register({ redirect_uris: ['https://app.example/cb'] })).status).toBe(201);
    const { status, body } = await signIn();
    expect(status).toBe(200);
    const refreshed = await post('/token', {
      grant_type: 'refresh_token',
      refresh_token: String(body['refresh_token']),
      client_id: 'desktop',
    });
    expect(refreshed.status).toBe(200);
  });
});
