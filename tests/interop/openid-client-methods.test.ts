/** `openid-client`, unmodified: every grant type with every client authentication method of this server. */
import { exportJWK, generateKeyPair } from 'jose';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { createUser } from '../support/user.ts';
import { callTool } from './tools.ts';

const redirectUri = 'https://app.example/callback';
const secret = 'known to both sides: 100% & +1';

/** The server is on loopback, where https is not required. */
const options: client.DiscoveryRequestOptions = {
  execute: [client.allowInsecureRequests],
  algorithm: 'oauth2',
};

const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });

/** The configuration of each client authentication method. */
const proofs = {
  none: () => client.None(),
  client_secret_basic: () => client.ClientSecretBasic(secret),
  client_secret_post: () => client.ClientSecretPost(secret),
  private_key_jwt: () => client.PrivateKeyJwt({ key: privateKey, kid: 'k1' }),
} as const;

type Method = keyof typeof proofs;
const methods = Object.keys(proofs) as readonly Method[];

let server: PortcullisHere;
beforeAll(async () => {
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] };
  const clients = methods.map((method) => ({
    client_id: method,
    redirect_uris: [redirectUri],
    grant_types: [
      'authorization_code',
      'refresh_token',
      ...(method === 'none' ? [] : ['client_credentials']),
    ],
    token_endpoint_auth_method: method,
    ...(method.startsWith('client_secret') && { client_secret: secret }),
    ...(method === 'private_key_jwt' && { jwks }),
  }));
  server = await startPortcullisHere({ clients });
});
afterAll(() => server.stop());

const discover = (method: Method, proof: client.ClientAuth = proofs[method]()) =>
  client.discovery(new URL(server.url), method, { use_mtls_endpoint_aliases: false }, proof, options);

async function callAs(config: client.Configuration, token: string): Promise<number> {
  const { headers, body } = callTool('whoami', {});
  const url = new URL(server.resource);
  return (await client.fetchProtectedResource(config, token, url, 'POST', body, headers)).status;
}

describe.each(methods)('by %s', (method) => {
  it('openid-client redeems a code, refreshes and revokes', async () => {
    const config = await discover(method);
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const expectedState = client.randomState();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'notes:read',
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
      resource: server.resource,
    });
    const answer = await createUser(owner).authorize(url);
    const resource = { resource: server.resource };
    const checks = { pkceCodeVerifier, expectedState };
    const tokens = await client.authorizationCodeGrant(config, answer, checks, resource);
    expect(await callAs(config, tokens.access_token)).toBe(200);
    const renewed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', resource);
    expect(await callAs(config, renewed.access_token)).toBe(200);
    await client.tokenRevocation(config, renewed.refresh_token ?? '');
    await expect(callAs(config, renewed.access_token)).rejects.toMatchObject({ status: 401 });
  });

  it.runIf(method !== 'none')(
    'openid-client gets a token by client credentials, and introspects it',
    async () => {
      const config = await discover(method);
      const tokens = await client.clientCredentialsGrant(config, { resource: server.resource });
      expect(await callAs(config, tokens.access_token)).toBe(200);
      expect(await client.tokenIntrospection(config, tokens.access_token)).toMatchObject({
        active: true,
        client_id: method,
        aud: server.resource,
      });
    },
  );

  it.each(methods.filter((other) => other !== method))(
    '[AS-AUTH-63] rejects another client authentication method, such as %s',
    async (other) => {
      const config = await discover(method, proofs[other]());
      const refused = client.refreshTokenGrant(config, 'whatever');
      await expect(refused).rejects.toMatchObject({ status: 401 });
    },
  );
});
