/** `openid-client`, a client library of many applications. */
import * as client from 'openid-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { createUser } from '../support/user.ts';
import { callTool } from './tools.ts';

const redirectUri = 'http://localhost:3000/callback';

const robot = {
  client_id: 'nightly-export',
  client_secret: 'only for nights, and long enough',
  grant_types: ['client_credentials'],
  scope: 'notes:read',
  token_endpoint_auth_method: 'client_secret_post',
} as const;

const web = {
  client_id: 'web',
  client_secret: 'a:b c/d+e%f, and long enough',
  redirect_uris: ['https://app.example/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'client_secret_basic',
} as const;

/** The server is on loopback, where https is not required. */
const options: client.DiscoveryRequestOptions = {
  execute: [client.allowInsecureRequests],
  algorithm: 'oauth2',
};

let server: PortcullisHere;

beforeAll(async () => {
  server = await startPortcullisHere({ clients: [robot, web] });
});

afterAll(async () => {
  await server.stop();
});

async function authorize(
  config: client.Configuration,
  redirect: string,
): Promise<client.TokenEndpointResponse> {
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirect,
    scope: 'notes:read',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    resource: server.resource,
  });
  const answer = await createUser(owner).authorize(url);
  return client.authorizationCodeGrant(
    config,
    answer,
    { pkceCodeVerifier, expectedState },
    { resource: server.resource },
  );
}

async function call(config: client.Configuration, token: string, tool: string): Promise<number> {
  const { headers, body } = callTool(tool, { text: 'By openid-client' });
  const url = new URL(server.resource);
  return (await client.fetchProtectedResource(config, token, url, 'POST', body, headers)).status;
}

it('[ALL-DCR-1 AS-DCR-1 AS-ROT-1] openid-client registers, signs a user in, refreshes and signs out', async () => {
  const metadata = { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] };
  const config = await client.dynamicClientRegistration(
    new URL(server.url),
    { ...metadata, token_endpoint_auth_method: 'none' },
    client.None(),
    options,
  );
  const tokens = await authorize(config, redirectUri);
  expect(await call(config, tokens.access_token, 'list_notes')).toBe(200);
  const refused = call(config, tokens.access_token, 'add_note');
  await expect(refused).rejects.toMatchObject({
    status: 403,
    cause: [{ scheme: 'bearer', parameters: { error: 'insufficient_scope' } }],
  });
  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', {
    resource: server.resource,
  });
  expect(renewed.refresh_token).not.toBe(tokens.refresh_token);
  expect(await call(config, renewed.access_token, 'list_notes')).toBe(200);
  await client.tokenRevocation(config, renewed.access_token);
  await expect(call(config, renewed.access_token, 'list_notes')).rejects.toMatchObject({ status: 401 });
});

it('[AS-O21-1 AS-REG-1] openid-client signs a user in for a configured confidential client', async () => {
  const authentication = client.ClientSecretBasic(web.client_secret);
  const config = await client.discovery(new URL(server.url), web.client_id, {}, authentication, options);
  const tokens = await authorize(config, web.redirect_uris[0]);
  expect(await call(config, tokens.access_token, 'list_notes')).toBe(200);
  expect(await client.tokenIntrospection(config, tokens.access_token)).toMatchObject({
    active: true,
    client_id: 'web',
    aud: server.resource,
  });
});

it('[AS-GRANT-3] openid-client gets a token by client credentials', async () => {
  const authentication = client.ClientSecretPost(robot.client_secret);
  const config = await client.discovery(new URL(server.url), robot.client_id, {}, authentication, options);
  const tokens = await client.clientCredentialsGrant(config, {
    resource: server.resource,
    scope: 'notes:read',
  });
  expect(await call(config, tokens.access_token, 'list_notes')).toBe(200);
  expect(tokens.refresh_token).toBeUndefined();
});
