/** `oauth4webapi`, unmodified, step by step: it checks every response strictly by its RFC. */
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { createUser } from '../support/user.ts';
import { callTool, readResult } from './tools.ts';

/** The server is on loopback, where https is not required. */
const loopback = { [oauth.allowInsecureRequests]: true } as const;

const redirectUri = 'http://127.0.0.1:33418/callback';

const robot = {
  client_id: 'robot:1',
  client_secret: 'se/cret+ with % and ü:',
  grant_types: ['client_credentials'],
  token_endpoint_auth_method: 'client_secret_basic',
  scope: 'notes:read',
} as const;

let server: PortcullisHere;
let issuer: URL;
let resource: URL;
let as: oauth.AuthorizationServer;

beforeAll(async () => {
  server = await startPortcullisHere({ clients: [robot] });
  issuer = new URL(server.url);
  resource = new URL(server.resource);
  as = await discover('oauth2');
});

afterAll(async () => {
  await server.stop();
});

async function discover(algorithm: 'oauth2' | 'oidc'): Promise<oauth.AuthorizationServer> {
  const response = await oauth.discoveryRequest(issuer, { algorithm, ...loopback });
  return oauth.processDiscoveryResponse(issuer, response);
}

interface Registered {
  readonly client: oauth.Client;
  readonly authentication: oauth.ClientAuth;
}

/** Registers a separate client for each test. */
async function register(method: 'none' | 'client_secret_basic' | 'client_secret_post'): Promise<Registered> {
  const response = await oauth.dynamicClientRegistrationRequest(
    as,
    {
      client_name: 'Step by step',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: method,
    },
    loopback,
  );
  const client = await oauth.processDynamicClientRegistrationResponse(response);
  const secret = String(client['client_secret']);
  const authentication = {
    none: () => oauth.None(),
    client_secret_basic: () => oauth.ClientSecretBasic(secret),
    client_secret_post: () => oauth.ClientSecretPost(secret),
  }[method]();
  return { client, authentication };
}

interface Authorized extends Registered {
  readonly tokens: oauth.TokenEndpointResponse;
}

/** The complete authorization code flow, with the user's consent. */
async function authorize({ client, authentication }: Registered, scope: string): Promise<Authorized> {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(as.authorization_endpoint ?? '');
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    scope,
    state,
    resource: server.resource,
  }).toString();
  const answer = await createUser(owner).authorize(url);
  expect(answer.searchParams.get('iss')).toBe(server.url);
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    authentication,
    oauth.validateAuthResponse(as, client, answer, state),
    redirectUri,
    verifier,
    { additionalParameters: { resource: server.resource }, ...loopback },
  );
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response);
  return { client, authentication, tokens };
}

/** The protected server's response to a call of `whoami`. */
async function whoAmI(token: string): Promise<unknown> {
  const { headers, body } = callTool('whoami');
  const response = await oauth.protectedResourceRequest(token, 'POST', resource, headers, body, loopback);
  expect(response.status).toBe(200);
  return readResult(response);
}

describe('discovery', () => {
  it('[S-PRM-1 S-PRM-2 S-PRM-5] oauth4webapi finds the authorization server of a protected resource', async () => {
    const response = await oauth.resourceDiscoveryRequest(resource, loopback);
    const metadata = await oauth.processResourceDiscoveryResponse(resource, response);
    expect(metadata).toMatchObject({ resource: server.resource, authorization_servers: [server.url] });
    expect(metadata.scopes_supported).toEqual(['notes:read', 'notes:write']);
  });

  it('[AS-META-2 AS-META-3 AS-META-6] oauth4webapi reads the same from both metadata documents', async () => {
    expect(as.issuer).toBe(server.url);
    expect(as.authorization_response_iss_parameter_supported).toBe(true);
    expect(await discover('oidc')).toMatchObject(as);
  });
});

describe.each(['none', 'client_secret_basic', 'client_secret_post'] as const)(
  'a client with %s',
  (method) => {
    it('[AS-O21-1 AS-AUTHZ-1 AS-TOK-1 AS-TOK-2 AS-DCR-2] gets a token by authorization code, and calls the protected server', async () => {
      const { client, tokens } = await authorize(await register(method), 'notes:read notes:write');
      expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'notes:read notes:write' });
      expect(await whoAmI(tokens.access_token)).toMatchObject({ clientId: client.client_id });
    });

    it('[AS-ROT-1 AS-TOK-2] refreshes the token, downscoped on request', async () => {
      const { client, authentication, tokens } = await authorize(
        await register(method),
        'notes:read notes:write',
      );
      const refresh = async (token: string | undefined, parameters: Record<string, string>) =>
        oauth.processRefreshTokenResponse(
          as,
          client,
          await oauth.refreshTokenGrantRequest(as, client, authentication, token ?? '', {
            additionalParameters: { resource: server.resource, ...parameters },
            ...loopback,
          }),
        );
      const narrowed = await refresh(tokens.refresh_token, { scope: 'notes:read' });
      expect(narrowed.scope).toBe('notes:read');
      expect(narrowed.refresh_token).not.toBe(tokens.refresh_token);
      expect(await whoAmI(narrowed.access_token)).toMatchObject({ scopes: ['notes:read'] });
      const whole = await refresh(narrowed.refresh_token, {});
      expect(whole.scope).toBe('notes:read notes:write');
      const wrong = refresh(whole.refresh_token, { resource: 'https://other.example/mcp' });
      await expect(wrong).rejects.toMatchObject({ error: 'invalid_target', status: 400 });
    });

    it('[S-VAL-3] revokes its refresh token, which ends the access token', async () => {
      const { client, authentication, tokens } = await authorize(await register(method), 'notes:read');
      expect(await whoAmI(tokens.access_token)).toMatchObject({ scopes: ['notes:read'] });
      const token = tokens.refresh_token ?? '';
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(as, client, authentication, token, loopback),
      );
      await expect(whoAmI(tokens.access_token)).rejects.toMatchObject({
        status: 401,
        cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }],
      });
      const response = await oauth.refreshTokenGrantRequest(as, client, authentication, token, loopback);
      const refused = oauth.processRefreshTokenResponse(as, client, response);
      await expect(refused).rejects.toMatchObject({ error: 'invalid_grant' });
    });
  },
);

describe('an access token', () => {
  it('[S-AUD-1] an access token is an RFC 9068 JWT for this resource only', async () => {
    const { client, tokens } = await authorize(await register('none'), 'notes:read');
    const request = new Request(resource, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    const claims = await oauth.validateJwtAccessToken(as, request, server.resource, loopback);
    expect(claims).toMatchObject({ iss: server.url, client_id: client.client_id, scope: 'notes:read' });
    const elsewhere = oauth.validateJwtAccessToken(as, request, 'https://other.example/mcp', loopback);
    await expect(elsewhere).rejects.toMatchObject({ code: oauth.JWT_CLAIM_COMPARISON });
  });

  it('a confidential client introspects its access token', async () => {
    const { client, authentication, tokens } = await authorize(
      await register('client_secret_basic'),
      'notes:read',
    );
    const introspect = async (token: string) =>
      oauth.processIntrospectionResponse(
        as,
        client,
        await oauth.introspectionRequest(as, client, authentication, token, loopback),
      );
    expect(await introspect(tokens.access_token)).toMatchObject({
      active: true,
      client_id: client.client_id,
      scope: 'notes:read',
      aud: server.resource,
    });
    expect(await introspect(tokens.refresh_token ?? '')).toMatchObject({ active: true });
    expect(await introspect('unknown')).toEqual({ active: false });
  });
});

describe('client credentials', () => {
  const client = { client_id: robot.client_id };

  const request = async (authentication: oauth.ClientAuth, parameters: Record<string, string> = {}) => {
    const all = { resource: server.resource, ...parameters };
    const response = await oauth.clientCredentialsGrantRequest(as, client, authentication, all, loopback);
    return oauth.processClientCredentialsResponse(as, client, response);
  };

  it('[AS-GRANT-3 AS-REG-1] a configured client gets a token by client credentials', async () => {
    const tokens = await request(oauth.ClientSecretBasic(robot.client_secret));
    expect(tokens).toMatchObject({ scope: 'notes:read' });
    expect(tokens).not.toHaveProperty('refresh_token');
    expect(await whoAmI(tokens.access_token)).toMatchObject({ subject: 'robot:1', scopes: ['notes:read'] });
  });

  it.each([
    { what: 'a wrong secret', authentication: oauth.ClientSecretBasic('wrong'), error: 'invalid_client' },
    { what: 'no secret', authentication: oauth.None(), error: 'invalid_client' },
    {
      what: 'more than was configured',
      authentication: oauth.ClientSecretBasic(robot.client_secret),
      parameters: { scope: 'notes:write' },
      error: 'invalid_scope',
    },
  ])('rejects client credentials with $what', async ({ authentication, parameters, error }) => {
    const refusal = await request(authentication, parameters).catch((cause: unknown) => cause);
    expect(errorOf(refusal)).toBe(error);
  });

  it('refuses client credentials to self-registered clients', async () => {
    const { client: own, authentication } = await register('client_secret_basic');
    const response = await oauth.clientCredentialsGrantRequest(as, own, authentication, {}, loopback);
    const refused = oauth.processClientCredentialsResponse(as, own, response);
    await expect(refused).rejects.toMatchObject({ error: 'unauthorized_client' });
  });
});

/** The OAuth error of a response that the library threw: from the body or the challenge. */
function errorOf(refusal: unknown): unknown {
  if (refusal instanceof oauth.ResponseBodyError) return refusal.error;
  return refusal instanceof oauth.WWWAuthenticateChallengeError && refusal.status === 401
    ? 'invalid_client'
    : refusal;
}
