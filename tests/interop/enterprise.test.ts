/** Assertions of an identity provider in a second process, and device codes, by client libraries that know nothing of this server. */
import { exportJWK, generateKeyPair } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Organization, startOrganization } from '../support/organization.ts';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { createUser } from '../support/user.ts';
import { visit } from '../support/visit.ts';
import { callTool, readResult } from './tools.ts';

/** The server is on loopback, where https is not required. */
const loopback = { [oauth.allowInsecureRequests]: true } as const;
const relaxed: openid.DiscoveryRequestOptions = {
  execute: [openid.allowInsecureRequests],
  algorithm: 'oauth2',
};
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
const secret = 'a secret that only the agent knows';
const redirectUri = 'http://127.0.0.1:33420/callback';
const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });

let organization: Organization;
let server: PortcullisHere;

beforeAll(async () => {
  organization = await startOrganization();
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] };
  server = await startPortcullisHere({
    deviceAuthorization: true,
    clients: [
      { client_id: 'agent', client_secret: secret, grant_types: [JWT_BEARER] },
      { client_id: 'deploy', grant_types: [JWT_BEARER], token_endpoint_auth_method: 'none' },
      { client_id: 'tv', grant_types: [DEVICE, 'refresh_token'], token_endpoint_auth_method: 'none' },
      {
        client_id: 'signer',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'private_key_jwt',
        require_signed_request_object: true,
        jwks,
      },
    ],
    assertionIssuers: [
      { issuer: organization.issuer, use: 'id-jag', clients: ['agent'], scopes: ['notes:read'] },
      {
        issuer: organization.issuer,
        use: 'workload',
        match: { sub: 'repo:acme/*:ref:refs/heads/main' },
        client: 'deploy',
        scopes: ['notes:read'],
      },
    ],
  });
});

afterAll(async () => {
  await server.stop();
  await organization.stop();
});

function identityAssertion(changes: object = {}): Promise<string> {
  const { url: aud, resource } = server;
  return organization.sign({ sub: 'ada-at-acme', aud, client_id: 'agent', resource, ...changes });
}

async function discover(): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(server.url);
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...loopback });
  return oauth.processDiscoveryResponse(issuer, found);
}

it('[X-EMA-16 X-EMA-17 X-EMA-24] oauth4webapi redeems an ID-JAG that is bound to its DPoP key, once, and calls the protected server', async () => {
  const as = await discover();
  expect(as['authorization_grant_profiles_supported']).toEqual([
    'urn:ietf:params:oauth:grant-profile:id-jag',
  ]);
  const client: oauth.Client = { client_id: 'agent' };
  const key = await oauth.generateKeyPair('ES256', { extractable: true });
  const DPoP = oauth.DPoP(client, key);
  const assertion = await identityAssertion({ cnf: { jkt: await DPoP.calculateThumbprint() } });
  const redeem = async (options: object) =>
    oauth.processGenericTokenEndpointResponse(
      as,
      client,
      await oauth.genericTokenEndpointRequest(
        as,
        client,
        oauth.ClientSecretBasic(secret),
        JWT_BEARER,
        { assertion, resource: server.resource },
        { ...options, ...loopback },
      ),
    );
  await expect(redeem({})).rejects.toMatchObject({ error: 'invalid_grant' });
  const tokens = await redeem({ DPoP });
  expect(tokens).toMatchObject({ token_type: 'dpop', scope: 'notes:read', resource: server.resource });
  expect(tokens.refresh_token).toBeUndefined();
  const { headers, body } = callTool('whoami');
  const target = new URL(server.resource);
  const call = () =>
    oauth.protectedResourceRequest(tokens.access_token, 'POST', target, headers, body, { DPoP, ...loopback });
  expect(await readResult(await call())).toMatchObject({ clientId: 'agent' });
  await expect(redeem({ DPoP })).rejects.toMatchObject({ error: 'invalid_grant' });
});

it('[X-EMA-15 X-WIF-2] openid-client redeems an ID-JAG and the token of a workload, each as the client that it is for', async () => {
  const authentication = openid.ClientSecretBasic(secret);
  const agent = await openid.discovery(new URL(server.url), 'agent', {}, authentication, relaxed);
  const assertion = await identityAssertion();
  const workload = await openid.discovery(new URL(server.url), 'deploy', {}, openid.None(), relaxed);
  await expect(openid.genericGrantRequest(workload, JWT_BEARER, { assertion })).rejects.toMatchObject({
    error: 'invalid_grant',
  });
  const tokens = await openid.genericGrantRequest(agent, JWT_BEARER, { assertion });
  expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'notes:read' });
  const claims = { sub: 'repo:acme/app:ref:refs/heads/main', aud: server.url };
  const job = await organization.sign(claims, { typ: 'JWT' });
  const deployed = await openid.genericGrantRequest(workload, JWT_BEARER, { assertion: job });
  const { headers, body } = callTool('whoami');
  const call = (token: string) =>
    openid.fetchProtectedResource(agent, token, new URL(server.resource), 'POST', body, headers);
  expect(await readResult(await call(tokens.access_token))).toMatchObject({ clientId: 'agent' });
  expect(await readResult(await call(deployed.access_token))).toMatchObject({ clientId: 'deploy' });
});

it('openid-client gets tokens by device authorization, and refreshes them', async () => {
  const config = await openid.discovery(new URL(server.url), 'tv', {}, openid.None(), relaxed);
  const started = await openid.initiateDeviceAuthorization(config, { resource: server.resource });
  const polling = openid.pollDeviceAuthorizationGrant(config, started);
  const answers = { email: owner.email, password: owner.password, decision: 'allow' };
  expect(await visit(String(started.verification_uri_complete), { answers })).toContain(
    'Your device is connected',
  );
  const tokens = await polling;
  expect(tokens).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) });
  const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '');
  expect(renewed.access_token).not.toBe(tokens.access_token);
});

it('openid-client ends its polling when the user denies access', async () => {
  const config = await openid.discovery(new URL(server.url), 'tv', {}, openid.None(), relaxed);
  const started = await openid.initiateDeviceAuthorization(config, { resource: server.resource });
  const polling = openid.pollDeviceAuthorizationGrant(config, started);
  const outcome = expect(polling).rejects.toMatchObject({ error: 'access_denied' });
  const answers = { email: owner.email, password: owner.password, decision: 'deny' };
  await visit(String(started.verification_uri_complete), { answers });
  await outcome;
});

it('[AS-PAR-60] openid-client signs its authorization request (JAR), and an unsigned one is refused', async () => {
  const authentication = openid.PrivateKeyJwt({ key: privateKey, kid: 'k1' });
  const config = await openid.discovery(new URL(server.url), 'signer', {}, authentication, relaxed);
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const parameters = {
    redirect_uri: redirectUri,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    scope: 'notes:read',
    state: 'abc',
    resource: server.resource,
  };
  const unsigned = await fetch(openid.buildAuthorizationUrl(config, parameters), { redirect: 'manual' });
  const { searchParams } = new URL(unsigned.headers.get('location') ?? '');
  expect([searchParams.get('error'), searchParams.get('error_description')]).toEqual([
    'invalid_request',
    expect.stringContaining('request'),
  ]);
  const url = await openid.buildAuthorizationUrlWithJAR(config, parameters, { key: privateKey, kid: 'k1' });
  const checks = { pkceCodeVerifier, expectedState: 'abc' };
  const tokens = await openid.authorizationCodeGrant(config, await createUser(owner).authorize(url), checks);
  expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'notes:read' });
});
