/** The official SDK's mcpAuthRouter over in-memory maps, like its demo provider, with rotating refresh tokens. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { OAuthServerProvider } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import type { OAuthClientInformationFull } from '@modelcontextprotocol/sdk/shared/auth.js';
import express from 'express';
import { SignJWT } from 'jose';

const port = Number(process.env['PORT']);
const issuer = new URL(`http://localhost:${port}`);
const RESOURCE = 'https://api.example/mcp';
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

interface Issued {
  readonly clientId: string;
  readonly scopes: string[];
}

const clients = new Map<string, OAuthClientInformationFull>();
const codes = new Map<string, Issued & { readonly challenge: string }>();
const accessTokens = new Map<string, Issued & { readonly expiresAt: number }>();
const refreshTokens = new Map<string, Issued>();

function taken<T extends Issued>(from: Map<string, T>, secret: string, clientId: string): T {
  const found = from.get(secret);
  if (found?.clientId !== clientId) throw new Error('unknown');
  from.delete(secret);
  return found;
}

function sign({ clientId, scopes }: Issued): Promise<string> {
  return new SignJWT({ client_id: clientId, scope: scopes.join(' ') })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'key' })
    .setIssuer(issuer.href)
    .setAudience(RESOURCE)
    .setSubject('user')
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('10m')
    .sign(privateKey);
}

async function issue({ clientId, scopes }: Issued) {
  const accessToken = process.env['BENCH_JWT'] === '1' ? await sign({ clientId, scopes }) : randomUUID();
  const refreshToken = randomUUID();
  accessTokens.set(accessToken, { clientId, scopes, expiresAt: Date.now() / 1000 + 600 });
  refreshTokens.set(refreshToken, { clientId, scopes });
  return {
    access_token: accessToken,
    token_type: 'bearer',
    expires_in: 600,
    scope: scopes.join(' '),
    refresh_token: refreshToken,
  };
}

const provider: OAuthServerProvider = {
  clientsStore: {
    getClient: (id) => clients.get(id),
    registerClient(client) {
      const registered = client as OAuthClientInformationFull;
      clients.set(registered.client_id, registered);
      return registered;
    },
  },
  async authorize(client, { redirectUri, codeChallenge, scopes = [], state }, response) {
    const code = randomUUID();
    codes.set(code, { clientId: client.client_id, scopes, challenge: codeChallenge });
    const target = new URL(redirectUri);
    target.searchParams.set('code', code);
    if (state !== undefined) target.searchParams.set('state', state);
    response.redirect(target.href);
  },
  challengeForAuthorizationCode: async (_client, code) => codes.get(code)?.challenge ?? '',
  exchangeAuthorizationCode: async (client, code) => issue(taken(codes, code, client.client_id)),
  exchangeRefreshToken: async (client, token) => issue(taken(refreshTokens, token, client.client_id)),
  async verifyAccessToken(token) {
    const found = accessTokens.get(token);
    if (found === undefined || found.expiresAt < Date.now() / 1000) throw new Error('expired');
    return { token, ...found };
  },
};

const app = express();
app.use(express.json());
app.use(express.urlencoded());
const unlimited = { rateLimit: false } as const;
app.use(
  mcpAuthRouter({
    provider,
    issuerUrl: issuer,
    scopesSupported: ['notes:read', 'notes:write'],
    authorizationOptions: unlimited,
    tokenOptions: unlimited,
    clientRegistrationOptions: unlimited,
    revocationOptions: unlimited,
  }),
);
// The router has no login; this one is from the SDK's demo, which does not authenticate users.
app.post('/introspect', async (request, response) => {
  try {
    const { clientId, scopes, expiresAt } = await provider.verifyAccessToken(request.body.token);
    response.json({
      active: true,
      client_id: clientId,
      scope: scopes.join(' '),
      exp: expiresAt,
      aud: RESOURCE,
    });
  } catch {
    response.status(401).json({ active: false });
  }
});
app.listen(port, '127.0.0.1');
