/** Interoperability: unmodified third-party clients against this server. */
import {
  OAuthClientInformationFullSchema,
  OAuthMetadataSchema,
  OAuthTokensSchema,
  OpenIdProviderDiscoveryMetadataSchema,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import { exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import type { AuthorizationServerOptions } from '../src/index.ts';
import { APP, createDocumentHost, documentOf } from './document-host.ts';
import {
  ACCOUNT,
  CALLBACK,
  CLIENTS,
  ISSUER,
  NOTES,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

/** The system's clock, because these clients look at it. */
async function startToday(more: Partial<AuthorizationServerOptions> = {}) {
  const t = await startServer({ clock: () => Math.floor(Date.now() / 1000), ...more });
  t.clock.now = Math.floor(Date.now() / 1000);
  return { t, options: { [oauth.customFetch]: fetchFrom(t) } };
}

function fetchFrom({ server }: ServerUnderTest) {
  return (url: string, { body, ...init }: oauth.CustomFetchOptions<string, unknown>): Promise<Response> =>
    server.handle(
      new Request(url, { ...init, ...(body !== undefined && { body: body as string }) } as RequestInit),
    );
}

describe('oauth4webapi', () => {
  const issuer = new URL(ISSUER);

  it.each(['oauth2', 'oidc'] as const)(
    '[AS-META-3 AS-META-60] oauth4webapi discovers the server by %s',
    async (algorithm) => {
      const { options } = await startToday();
      const response = await oauth.discoveryRequest(issuer, { algorithm, ...options });
      const as = await oauth.processDiscoveryResponse(issuer, response);
      expect(as.token_endpoint).toBe(`${ISSUER}/token`);
    },
  );

  it('[ALL-DCR-1 AS-TOK-2 AS-REVOKE-60] oauth4webapi registers, redeems, verifies, refreshes and revokes', async () => {
    const { t, options } = await startToday();
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options }),
    );
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(
        as,
        { redirect_uris: [CALLBACK], grant_types: ['authorization_code', 'refresh_token'] },
        options,
      ),
    );
    const authentication = oauth.ClientSecretBasic(String(client['client_secret']));
    const { code, verifier } = await t.issueCode({ clientId: client.client_id, redirectUri: CALLBACK });
    const callback = oauth.validateAuthResponse(
      as,
      client,
      new URLSearchParams({ code, iss: ISSUER }),
      oauth.skipStateCheck,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(
      as,
      client,
      await oauth.authorizationCodeGrantRequest(as, client, authentication, callback, CALLBACK, verifier, {
        additionalParameters: { resource: NOTES },
        ...options,
      }),
    );
    const request = new Request(NOTES, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    const claims = await oauth.validateJwtAccessToken(as, request, NOTES, options);
    expect(claims).toMatchObject({
      sub: ACCOUNT,
      client_id: client.client_id,
      scope: 'notes:read notes:write',
    });

    const refreshToken = String(tokens.refresh_token);
    const refresh = () => oauth.refreshTokenGrantRequest(as, client, authentication, refreshToken, options);
    const renewed = await oauth.processRefreshTokenResponse(as, client, await refresh());
    expect(renewed.refresh_token).toMatch(/^[\w-]{20,40}~1~[\w-]{43}$/);
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(as, client, authentication, String(renewed.refresh_token), options),
    );
    await expect(
      refresh().then((response) => oauth.processRefreshTokenResponse(as, client, response)),
    ).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('[X-CC-4 AS-GRANT-3 AS-INTRO-61] oauth4webapi gets a token for an application and introspects it', async () => {
    const clients = CLIENTS.map((known) => ({ ...known, scope: 'notes:write' }));
    const { options } = await startToday({ clients });
    const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options });
    const as = await oauth.processDiscoveryResponse(issuer, response);
    const client = { client_id: 'nightly' };
    const authentication = oauth.ClientSecretBasic('nightly-secret');
    const parameters = { resource: NOTES, scope: 'notes:write' };
    const { access_token } = await oauth.processClientCredentialsResponse(
      as,
      client,
      await oauth.clientCredentialsGrantRequest(as, client, authentication, parameters, options),
    );
    const answer = await oauth.processIntrospectionResponse(
      as,
      client,
      await oauth.introspectionRequest(as, client, authentication, access_token, options),
    );
    expect(answer).toMatchObject({ active: true, sub: 'nightly', aud: NOTES, scope: 'notes:write' });
  });

  it('[X-CC-4 X-CC-10 AS-AUTH-66] oauth4webapi authenticates configured, registered and metadata-document clients by private_key_jwt', async () => {
    const { publicKey, privateKey } = await oauth.generateKeyPair('ES256', { extractable: true });
    const jwks = { keys: [await exportJWK(publicKey)] };
    const proof = oauth.PrivateKeyJwt(privateKey);
    const method = { token_endpoint_auth_method: 'private_key_jwt' };
    const host = createDocumentHost({ [APP]: documentOf(APP, { ...method, jwks }) });
    const { t, options } = await startToday({
      outbound: { fetch: host.fetch },
      clients: [...CLIENTS, { client_id: 'signer', grant_types: ['client_credentials'], ...method, jwks }],
    });
    const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options });
    const as = await oauth.processDiscoveryResponse(issuer, response);
    expect(as.token_endpoint_auth_signing_alg_values_supported).toContain('ES256');

    const signer = { client_id: 'signer' };
    const own = await oauth.processClientCredentialsResponse(
      as,
      signer,
      await oauth.clientCredentialsGrantRequest(as, signer, proof, { resource: NOTES }, options),
    );
    expect(own.token_type).toBe('bearer');

    const registered = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(
        as,
        { redirect_uris: [CALLBACK], ...method, jwks },
        options,
      ),
    );
    for (const client of [registered, { client_id: APP }]) {
      const { code, verifier } = await t.issueCode({ clientId: client.client_id, redirectUri: CALLBACK });
      const answer = new URLSearchParams({ code, iss: ISSUER });
      const callback = oauth.validateAuthResponse(as, client, answer, oauth.skipStateCheck);
      const redeemed = await oauth.authorizationCodeGrantRequest(
        as,
        client,
        proof,
        callback,
        CALLBACK,
        verifier,
        options,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(as, client, redeemed);
      expect(tokens.access_token).toMatch(/^ey/);
    }
  });

  it('[AS-TOK-72] oauth4webapi reads the challenge of a rejected secret', async () => {
    const clients = CLIENTS.map((known) => ({ ...known, scope: 'notes:write' }));
    const { options } = await startToday({ clients });
    const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options });
    const as = await oauth.processDiscoveryResponse(issuer, response);
    const client = { client_id: 'nightly' };
    const refused = await oauth.clientCredentialsGrantRequest(
      as,
      client,
      oauth.ClientSecretBasic('x'),
      {},
      options,
    );
    await expect(oauth.processClientCredentialsResponse(as, client, refused)).rejects.toThrow(
      oauth.WWWAuthenticateChallengeError,
    );
  });
});

describe('the schemas of the official SDK', () => {
  it('[AS-META-70 AS-META-71] the SDK’s schemas accept both metadata documents', async () => {
    const { send } = await startServer();
    const { body } = await send('/.well-known/oauth-authorization-server');
    expect(OAuthMetadataSchema.parse(body)).toMatchObject(body);
    const { body: openid } = await send('/.well-known/openid-configuration');
    expect(OpenIdProviderDiscoveryMetadataSchema.parse(openid).issuer).toBe(ISSUER);
  });

  it('[AS-DCR-62 AS-TOK-64] the SDK’s schemas accept registrations and tokens', async () => {
    const { register, signIn } = await startServer();
    const { body } = await register({ redirect_uris: [CALLBACK], client_name: 'App' });
    expect(OAuthClientInformationFullSchema.parse(body)['client_id']).toBe(body['client_id']);
    expect(OAuthTokensSchema.parse((await signIn()).body).token_type).toBe('Bearer');
  });
});
