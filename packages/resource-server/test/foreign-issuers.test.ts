/** Interoperability with other authorization servers: valid tokens are accepted, others rejected. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { OAuth2Server } from 'oauth2-mock-server';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  combineVerifiers,
  createGuard,
  dangerouslyAcceptTypes,
  introspectionVerifier,
  jwtVerifier,
  type TokenVerifier,
} from '../src/index.ts';

const RESOURCE = 'https://api.example/mcp';
const OTHER = 'https://other.example/mcp';

const closing: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const close of closing.splice(0)) await close();
});

type Ask = (token: string) => Promise<{ status: number; subject?: string; scopes?: readonly string[] }>;

function guardWith(verifier: TokenVerifier): Ask {
  const guard = createGuard({ resource: RESOURCE, verifier, events: () => {} });
  return async (token) => {
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: `Bearer ${token}` });
    if (!decision.authorized) return { status: decision.response.status };
    const { subject, scopes } = decision.principal;
    return { status: 200, subject, scopes };
  };
}

/** Token formats of the provider by resource indicator. */
const FORMATS: Readonly<Record<string, object>> = {
  [RESOURCE]: { audience: RESOURCE, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } },
  [OTHER]: { audience: OTHER, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } },
  'urn:by-rsa': { audience: RESOURCE, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } },
  'urn:opaque': { audience: RESOURCE, accessTokenFormat: 'opaque' },
  'urn:opaque-elsewhere': { audience: OTHER, accessTokenFormat: 'opaque' },
};

describe('oidc-provider', () => {
  let origin = '';

  beforeAll(async () => {
    origin = await startOidcProvider();
  });

  const token = (resource: string): Promise<string> =>
    askForToken(`${origin}/token`, { resource, scope: 'notes:read' });

  it.each([RESOURCE, 'urn:by-rsa'])(
    '[S-AUD-1 S-AUD-20] accepts tokens of oidc-provider only for their audience: %s',
    async (resource) => {
      const ask = guardWith(jwtVerifier({ issuer: origin }));
      expect(await ask(await token(resource))).toEqual({
        status: 200,
        subject: 'machine',
        scopes: ['notes:read'],
      });
      expect((await ask(await token(OTHER))).status).toBe(401);
    },
  );

  it('rejects a token with an algorithm that is not allowed', async () => {
    const ask = guardWith(jwtVerifier({ issuer: origin, algorithms: ['ES256'] }));
    expect((await ask(await token('urn:by-rsa'))).status).toBe(401);
    expect((await ask(await token(RESOURCE))).status).toBe(200);
  });

  it('accepts opaque tokens of oidc-provider by introspection, and rejects revoked ones', async () => {
    const introspection = introspectionVerifier({
      issuer: origin,
      endpoint: `${origin}/token/introspection`,
      clientId: 'machine',
      clientSecret: 'machine-secret',
      freshness: 0,
      // It names no subject where a client acts for itself. All its tokens here are such.
      mapClaims: ({ client_id }) => ({ sub: client_id }),
    });
    const ask = guardWith(combineVerifiers([introspection, jwtVerifier({ issuer: origin })]));
    const opaque = await token('urn:opaque');
    expect(opaque).not.toContain('.');
    expect(await ask(opaque)).toEqual({ status: 200, subject: 'machine', scopes: ['notes:read'] });
    expect((await ask(await token(RESOURCE))).status).toBe(200);
    expect((await ask(await token('urn:opaque-elsewhere'))).status).toBe(401);
    await fetch(`${origin}/token/revocation`, {
      method: 'POST',
      headers: { authorization: CREDENTIALS },
      body: new URLSearchParams({ token: opaque }),
    });
    expect((await ask(opaque)).status).toBe(401);
    expect((await ask('never-issued')).status).toBe(401);
  });
});

describe('oauth2-mock-server', () => {
  let server: OAuth2Server;
  let issuer = '';

  beforeAll(async () => {
    server = new OAuth2Server();
    await server.issuer.keys.generate('RS256');
    await server.start(0, '127.0.0.1');
    issuer = server.issuer.url ?? '';
    closing.push(() => server.stop());
  });

  const CLAIMS = { sub: 'machine', aud: RESOURCE, client_id: 'machine', jti: 'j', scope: 'notes:read' };

  const token = (claims: Record<string, unknown>, typ?: string): Promise<string> =>
    server.issuer.buildToken({
      scopesOrTransform: (header, payload) => {
        Object.assign(payload, claims);
        if (typ !== undefined) header['typ'] = typ;
      },
    });

  it('[S-AUD-1 S-JWT-60] accepts access tokens of oauth2-mock-server if this resource is the audience', async () => {
    const ask = guardWith(jwtVerifier({ issuer }));
    expect(await ask(await token(CLAIMS, 'at+jwt'))).toEqual({
      status: 200,
      subject: 'machine',
      scopes: ['notes:read'],
    });
    expect((await ask(await token(CLAIMS))).status).toBe(401);
    expect((await ask(await token({}, 'at+jwt'))).status).toBe(401);
    expect((await ask(await token({ ...CLAIMS, aud: OTHER }, 'at+jwt'))).status).toBe(401);
    expect((await ask(await token({ ...CLAIMS, iss: 'https://evil.example' }, 'at+jwt'))).status).toBe(401);
  });

  it('accepts untyped tokens of oauth2-mock-server only if the options allow it', async () => {
    const ask = guardWith(jwtVerifier({ issuer, [dangerouslyAcceptTypes]: ['JWT'] }));
    expect((await ask(await token(CLAIMS))).status).toBe(200);
    expect((await ask(await token({ ...CLAIMS, aud: OTHER }))).status).toBe(401);
  });

  it('[S-JWT-64] rejects no request while oauth2-mock-server rotates its keys', async () => {
    const ask = guardWith(jwtVerifier({ issuer, keys: { cooldown: 0 } }));
    expect((await ask(await token(CLAIMS, 'at+jwt'))).status).toBe(200);
    const { kid } = await server.issuer.keys.generate('ES256');
    const rotated = await server.issuer.buildToken({
      kid,
      scopesOrTransform: (header, payload) => {
        Object.assign(payload, CLAIMS);
        header['typ'] = 'at+jwt';
      },
    });
    expect((await ask(rotated)).status).toBe(200);
  });
});

const CREDENTIALS = `Basic ${btoa('machine:machine-secret')}`;

async function askForToken(endpoint: string, form: Record<string, string>): Promise<string> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { authorization: CREDENTIALS },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
  });
  const json = (await response.json()) as { access_token?: string };
  if (json.access_token === undefined) throw new Error(JSON.stringify(json));
  return json.access_token;
}

/** The part of oidc-provider that the test uses, since it ships no types. */
type ProviderClass = new (
  issuer: string,
  settings: Readonly<Record<string, unknown>>,
) => { callback(): RequestListener };

async function startOidcProvider(): Promise<string> {
  const quiet = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'info')];
  for (const spy of quiet) spy.mockImplementation(() => undefined);
  const { default: Provider }: { default: ProviderClass } = await import('oidc-provider' as string);
  const { server, origin } = await listen();
  const provider = new Provider(origin, {
    jwks: { keys: [await privateJwk('ES256'), await privateJwk('RS256')] },
    clients: [
      {
        client_id: 'machine',
        client_secret: 'machine-secret',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: ['notes:read'],
    ttl: { ClientCredentials: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: async () => true },
      revocation: { enabled: true, allowedPolicy: async () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: async (_context: unknown, resource: string) => ({
          scope: 'notes:read',
          ...FORMATS[resource],
        }),
      },
    },
  });
  for (const spy of quiet) spy.mockRestore();
  server.on('request', provider.callback());
  return origin;
}

async function privateJwk(algorithm: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: algorithm, use: 'sig', kid: algorithm };
}

async function listen(): Promise<{ server: Server; origin: string }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
