/** Credentials that the gateway obtains without the user: client credentials, token exchange, and enterprise assertions. */
import type { AuthorizationServer } from '@portcullis/authorization-server';
import { ClientError, type Tokens } from '@portcullis/client';
import { type AccessTokenClaims, formatScopes, OAuthError } from '@portcullis/protocol';
import type { Principal } from '@portcullis/resource-server';
import type { CredentialDefinition } from '../servers/credential-options.ts';
import {
  type BackendClientSettings,
  createBackendClient,
  type ProtectedBackend,
  preregisteredClient,
  throwUnavailable,
} from './backend-client.ts';
import { createSessionStore } from './session-store.ts';
import { type BackendCredentials, createObtainedCredentials } from './token-credential.ts';
import { requestTokensAt } from './token-request.ts';

/** The sources of subject tokens. */
export type UserTokens = Pick<AuthorizationServer, 'signUserAssertion' | 'upstreamIdToken' | 'upstreamToken'>;

/** What the guard verified. */
type VerifiedClaims = AccessTokenClaims & Readonly<Record<string, unknown>>;

type Definition<K extends CredentialDefinition['as']> = Extract<CredentialDefinition, { readonly as: K }>;

/** Cached by grant, so that no two clients of a user share a token; of the `application`, one for all. */
export function createMachineCredentials(
  backend: ProtectedBackend,
  definition: Definition<'application' | 'enterprise' | 'exchange'>,
  users: UserTokens,
  clock: () => number,
): BackendCredentials {
  const { id, name } = backend;
  return createObtainedCredentials({
    clock,
    keyOf({ grantId }) {
      if (definition.as === 'application') return JSON.stringify([id]);
      if (grantId !== null) return JSON.stringify([id, grantId]);
      throw new OAuthError('access_denied', `${name} needs a user, and this token belongs to none.`);
    },
    obtain: (principal) => obtain(principal).catch((error: unknown) => throwUnavailable(backend, error)),
  });

  async function obtain(principal: Principal): Promise<Tokens> {
    const { client, scopes } = definition;
    switch (definition.as) {
      // One identity for all users. @see RFC 6749 §4.4
      case 'application':
        return signIn(backend, { client, scopes, clock, grant: { kind: 'application' } });
      // The user, by an assertion of the enterprise's identity provider (ID-JAG).
      case 'enterprise': {
        const { tokenEndpoint, clientId, clientSecret } = definition.identityProvider;
        const identityProvider = { tokenEndpoint, clientId, ...(clientSecret !== null && { clientSecret }) };
        const subjectToken = () => users.upstreamIdToken(principal.grantId ?? '', clientId);
        const grant = { kind: 'enterprise', identityProvider, subjectToken } as const;
        return signIn(backend, { client, scopes, clock, grant });
      }
      // The user, by token exchange at the authorization server of the backend. @see RFC 8693 §2
      case 'exchange':
        return exchange(backend, definition, users, principal, clock);
    }
  }
}

async function signIn(
  backend: ProtectedBackend,
  settings: Omit<BackendClientSettings, 'store'>,
): Promise<Tokens> {
  const store = await createSessionStore(backend.url, {});
  const client = await createBackendClient(backend, { ...settings, store });
  await client.signIn();
  const tokens = store.session()?.tokens ?? null;
  if (tokens === null) throw new TypeError('The client saves the tokens it obtains.');
  return tokens;
}

const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';

async function exchange(
  backend: ProtectedBackend,
  definition: Definition<'exchange'>,
  users: UserTokens,
  principal: Principal,
  clock: () => number,
): Promise<Tokens> {
  const { client, scopes, audience, subject } = definition;
  const target = await findTarget(backend, definition, clock);
  const { endpoint, resource } = target;
  const configured = await preregisteredClient(client);
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: `${TOKEN_TYPE}access_token`,
    resource,
    subject_token:
      subject === 'user'
        ? await users.signUserAssertion(principal, target.audience)
        : (await users.upstreamToken(principal.claims as VerifiedClaims)).accessToken,
    subject_token_type: `${TOKEN_TYPE}${subject === 'user' ? 'jwt' : 'access_token'}`,
  });
  if (audience !== null) form.set('audience', audience);
  if (scopes !== null) form.set('scope', formatScopes(scopes));
  const { tokens, body } = await requestTokensAt(
    backend.fetch,
    { endpoint, issuer: target.audience, client: configured, form, scopes: scopes ?? [], resource },
    clock,
  );
  checkIssuedTokenType(JSON.parse(body));
  return tokens;
}

/** Types of tokens that are sent as bearer tokens. */
const ACCESS_TOKENS: ReadonlySet<unknown> = new Set([`${TOKEN_TYPE}access_token`, `${TOKEN_TYPE}jwt`]);

/** REQUIRED: the type of the issued token; ID tokens and refresh tokens must not be sent to a backend. @see RFC 8693 §2.2.1 */
function checkIssuedTokenType({ issued_token_type: type }: { readonly issued_token_type?: unknown }): void {
  if (ACCESS_TOKENS.has(type)) return;
  const issued = typeof type === 'string' ? `of the type ${type.slice(0, 100)}` : 'without issued_token_type';
  throw new ClientError(
    'token_response_invalid',
    `The token exchange was answered with a token ${issued}, and a backend needs an access token.`,
  );
}

/**
 * Finds where the token is exchanged, with the audience of assertions: an authorization server without metadata is known by the URL of
 * its token endpoint. @see RFC 7523 §3
 */
async function findTarget(
  backend: ProtectedBackend,
  { client, tokenEndpoint }: Definition<'exchange'>,
  clock: () => number,
) {
  const { url } = backend;
  if (tokenEndpoint !== null) return { audience: tokenEndpoint, endpoint: tokenEndpoint, resource: url };
  const store = await createSessionStore(url, {});
  const { discover } = await createBackendClient(backend, { client, store, scopes: null, clock });
  const { issuer, metadata, resource } = await discover();
  if (metadata.token_endpoint === undefined)
    throw new ClientError(
      'metadata_invalid',
      'The metadata names no token endpoint; configure tokenEndpoint.',
    );
  return { audience: issuer, endpoint: metadata.token_endpoint, resource: resource ?? url };
}
