/** DPoP, pushed and signed requests by client libraries that know nothing of this server: `oauth4webapi` and `openid-client`. */
import { exportJWK, generateKeyPair } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { createUser } from '../support/user.ts';
import { callTool, readResult } from './tools.ts';

/** The server is on loopback, where https is not required. */
const loopback = { [oauth.allowInsecureRequests]: true } as const;
const redirectUri = 'http://127.0.0.1:33419/callback';
const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });

describe.each([
  ['offers nonces', false],
  ['requires nonces', true],
])('a server that %s', (_name, requireDpopNonces) => {
  let server: PortcullisHere;
  beforeAll(async () => {
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] };
    const signer = {
      client_id: 'signer',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'private_key_jwt',
      dpop_bound_access_tokens: true,
      require_pushed_authorization_requests: true,
      require_signed_request_object: true,
      jwks,
    };
    const native = {
      client_id: 'native',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    };
    server = await startPortcullisHere({ clients: [signer, native], requireDpopNonces });
  });
  afterAll(() => server.stop());

  it('[AS-PAR-60 X-DPOP-11 X-DPOP-12 X-DPOP-13] oauth4webapi signs and pushes a request, redeems the code and calls the protected server with DPoP', async () => {
    const issuer = new URL(server.url);
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...loopback });
    const as = await oauth.processDiscoveryResponse(issuer, found);
    const client: oauth.Client = { client_id: 'signer' };
    const authentication = oauth.PrivateKeyJwt({ key: privateKey, kid: 'k1' });
    const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'));
    const verifier = oauth.generateRandomCodeVerifier();
    const parameters = {
      response_type: 'code',
      redirect_uri: redirectUri,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      scope: 'notes:read',
      state: 'abc',
      resource: server.resource,
    };
    const request = await oauth.issueRequestObject(as, client, new URLSearchParams(parameters), {
      key: privateKey,
      kid: 'k1',
    });
    const pushed = await repeat(async () =>
      oauth.processPushedAuthorizationResponse(
        as,
        client,
        await oauth.pushedAuthorizationRequest(
          as,
          client,
          authentication,
          { request },
          { DPoP, ...loopback },
        ),
      ),
    );
    const url = new URL(as.authorization_endpoint ?? '');
    url.search = new URLSearchParams({ client_id: 'signer', request_uri: pushed.request_uri }).toString();
    const answer = oauth.validateAuthResponse(as, client, await createUser(owner).authorize(url), 'abc');
    const options = { DPoP, additionalParameters: { resource: server.resource }, ...loopback };
    const tokens = await repeat(async () =>
      oauth.processAuthorizationCodeResponse(
        as,
        client,
        await oauth.authorizationCodeGrantRequest(
          as,
          client,
          authentication,
          answer,
          redirectUri,
          verifier,
          options,
        ),
      ),
    );
    expect(tokens.token_type).toBe('dpop');
    const { headers, body } = callTool('whoami');
    const target = new URL(server.resource);
    const response = await repeat(() =>
      oauth.protectedResourceRequest(tokens.access_token, 'POST', target, headers, body, {
        DPoP,
        ...loopback,
      }),
    );
    expect(await readResult(response)).toMatchObject({ clientId: 'signer' });
  });

  it('[X-DPOP-12 X-DPOP-15] openid-client pushes a request and refreshes with its DPoP key, and another key gets nothing', async () => {
    const config = await openid.discovery(new URL(server.url), 'native', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
      algorithm: 'oauth2',
    });
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'));
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const parameters = {
      redirect_uri: redirectUri,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      scope: 'notes:read',
      state: 'abc',
      resource: server.resource,
    };
    const url = await openid.buildAuthorizationUrlWithPAR(config, parameters, { DPoP });
    const answer = await createUser(owner).authorize(url);
    const checks = { pkceCodeVerifier, expectedState: 'abc' };
    const tokens = await openid.authorizationCodeGrant(config, answer, checks, undefined, { DPoP });
    expect(tokens.token_type).toBe('dpop');
    const refresh = (handle: openid.DPoPHandle, token = tokens.refresh_token ?? '') =>
      openid.refreshTokenGrant(config, token, undefined, { DPoP: handle });
    const thief = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'));
    await expect(refresh(thief)).rejects.toMatchObject({ error: 'invalid_dpop_proof' });
    const next = await refresh(DPoP);
    expect(next.token_type).toBe('dpop');
    const { headers, body } = callTool('whoami', {});
    const target = new URL(server.resource);
    const call = (handle?: openid.DPoPHandle) =>
      openid.fetchProtectedResource(config, next.access_token, target, 'POST', body, headers, {
        ...(handle && { DPoP: handle }),
      });
    expect((await call(DPoP)).status).toBe(200);
    expect(
      await call().then(
        ({ status }) => status,
        () => 401,
      ),
    ).toBe(401);
  });
});

/** The first request learns the nonce. */
async function repeat<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!oauth.isDPoPNonceError(error)) throw error;
    return send();
  }
}
