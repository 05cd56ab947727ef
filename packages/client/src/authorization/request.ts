/** The authorization request with PKCE and state: everything checked before a browser opens, and the record for its response. */
import {
  type AuthenticationRequirement,
  authorizationRequestUrl,
  CODE_CHALLENGE_METHOD,
  deriveCodeChallenge,
  encodeBase64url,
  readSecureUrl,
  type Scopes,
} from '@portcullis/protocol';
import { type DiscoveryResult, requiresDpop } from '../discovery/discovery-result.ts';
import { requireTokenEndpoint } from '../discovery/endpoints.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import type { PrivateEcJwk } from '../signing-key.ts';
import type { PendingAuthorization, Registration } from '../storage/credentials.ts';

/** Milliseconds for a user to sign in: ten minutes. */
const SIGN_IN_TIMEOUT = 600_000;

/** Input of an authorization request. */
export interface AuthorizationRequestInput {
  /** The discovered authorization server. */
  readonly discovery: DiscoveryResult;
  /** The client that sends the request. */
  readonly registration: Registration;
  /** The redirect URI. @see RFC 6749 §3.1.2 */
  readonly redirectUri: string;
  /** None by default: the server decides. */
  readonly scopes?: Scopes;
  /** The account to store the credentials under; `default` by default. */
  readonly account?: string;
  /** The key to bind the token to; `null`, the default: a bearer token. */
  readonly dpopKey?: PrivateEcJwk | null;
  /** Binding of the response on a host with several users, such as the session of the user. */
  readonly binding?: string | null;
  /** Value of the `prompt` parameter, such as `select_account`. */
  readonly prompt?: string | null;
  /** How the user must sign in. @see RFC 9470 §4 */
  readonly authentication?: AuthenticationRequirement | undefined;
  /** Epoch milliseconds. */
  readonly now?: number;
  /** Cryptographically secure random bytes. */
  readonly random?: (bytes: number) => Uint8Array;
}

function randomBytes(bytes: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(bytes));
}

/** The URL for the user's browser, and the record to store until the response arrives. */
export interface StartedAuthorization {
  /** The authorization request, for the browser of the user. */
  readonly url: string;
  /** The record to store; secret, and for one use. */
  readonly pending: PendingAuthorization;
}

/** What a sign-in uses, by the member of the metadata that lists it. */
const NEEDED = [
  ['response_types_supported', 'code'],
  ['grant_types_supported', 'authorization_code'],
] as const;

/** Whether a list rules a value out. Without a list the default includes it; an empty one is a list that should have been omitted. @see RFC 8414 §3.2 */
function excludes(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && list.length > 0 && !list.includes(value);
}

/**
 * Rejects a protected server that does not read bearer tokens in the header, which is the only place where MCP clients send them.
 * @throws ClientError `metadata_invalid`
 * @see RFC 9728 §2
 */
export function requireHeaderTokens({ resourceMetadata, server }: DiscoveryResult): void {
  if (!excludes(resourceMetadata?.bearer_methods_supported, 'header')) return;
  const text = `${sanitizeText(server)} does not list header in bearer_methods_supported, so this client cannot send its token.`;
  throw new ClientError('metadata_invalid', text);
}

/**
 * Rejects an authorization server that cannot serve the requests of this client, before a client is registered or a browser opens.
 * @throws ClientError `pkce_unsupported` or `metadata_invalid`
 * @see RFC 8414 §2, RFC 9101 §10.5, RFC 9126 §5
 */
export function requireRequestSupport(discovery: DiscoveryResult): void {
  requirePkceSupport(discovery);
  const { metadata, issuer } = discovery;
  for (const [name, needed] of NEEDED) {
    if (!excludes(metadata[name], needed)) continue;
    const text = `${sanitizeText(issuer)} does not list ${needed} in ${name}, so users cannot sign in there.`;
    throw new ClientError('metadata_invalid', text);
  }
  if (metadata.require_signed_request_object === true) {
    throw new ClientError(
      'metadata_invalid',
      `${sanitizeText(issuer)} accepts signed authorization requests only (require_signed_request_object), and this client sends none.`,
    );
  }
  const { pushed_authorization_request_endpoint: endpoint } = metadata;
  if (metadata.require_pushed_authorization_requests === true && endpoint === undefined) {
    throw new ClientError(
      'metadata_invalid',
      `${sanitizeText(issuer)} requires pushed authorization requests, but has no pushed_authorization_request_endpoint.`,
    );
  }
}

/**
 * Rejects an authorization server that does not announce PKCE where the revision requires it.
 * If code_challenge_methods_supported is absent, clients MUST refuse to proceed.
 */
function requirePkceSupport({ profile, metadata, issuer }: DiscoveryResult): void {
  if (profile.pkceSupport === 'assume') return;
  if (metadata.code_challenge_methods_supported?.includes(CODE_CHALLENGE_METHOD) === true) return;
  throw new ClientError(
    'pkce_unsupported',
    `${sanitizeText(issuer)} does not announce PKCE with S256, so signing in there would not be safe. ` +
      'If you know that it supports PKCE, pin revision 2025-06-18.',
  );
}

/**
 * Creates the request with a fresh PKCE code verifier and state.
 * @throws ClientError `pkce_unsupported`, `metadata_invalid` or `authorization_url_refused`
 * @see RFC 6749 §4.1.1, RFC 7636 §4.3, OAuth 2.1 draft 13 §4.1.1
 */
export async function authorizationRequest(input: AuthorizationRequestInput): Promise<StartedAuthorization> {
  const { discovery, registration, redirectUri, scopes = [], random = randomBytes } = input;
  requireRequestSupport(discovery);
  const endpoint = requireAuthorizationEndpoint(discovery);
  const codeVerifier = encodeBase64url(random(32));
  const state = encodeBase64url(random(32));
  const { resource, profile, metadata, server, issuer } = discovery;
  const url = authorizationRequestUrl(endpoint, {
    clientId: registration.clientId,
    codeChallenge: await deriveCodeChallenge(codeVerifier),
    redirectUri,
    state,
    resource,
    scopes,
    ...promptFor(input),
    ...(input.authentication && { authentication: input.authentication }),
  });
  const pending: PendingAuthorization = {
    state,
    codeVerifier,
    server,
    account: input.account ?? 'default',
    issuer,
    ...(metadata.issuer !== issuer && { responseIssuer: metadata.issuer }),
    issuerAdvertised: metadata.authorization_response_iss_parameter_supported === true,
    issuerRule: profile.responseIssuer,
    tokenEndpoint: requireTokenEndpoint(discovery),
    registration,
    redirectUri,
    resource,
    scopes,
    dpopKey: input.dpopKey ?? null,
    ...(input.dpopKey && requiresDpop(discovery) && { requiresDpop: true }),
    binding: input.binding ?? null,
    expiresAt: (input.now ?? Date.now()) + SIGN_IN_TIMEOUT,
  };
  return { url, pending };
}

/** OpenID Connect grants offline access only after consent. @see OpenID Connect Core 1.0 §11 */
function promptFor({ prompt = null, scopes = [] }: AuthorizationRequestInput): { prompt?: string } {
  if (prompt !== null) return { prompt };
  return scopes.includes('offline_access') ? { prompt: 'consent' } : {};
}

/** The browser is only sent to https URLs, or http on a loopback address. @see RFC 6749 §3.1.2.1, seed 5.3(6) */
function requireAuthorizationEndpoint({ metadata, issuer }: DiscoveryResult): string {
  const endpoint = metadata.authorization_endpoint;
  if (endpoint === undefined) {
    throw new ClientError(
      'metadata_invalid',
      `${sanitizeText(issuer)} has no authorization endpoint: users cannot sign in.`,
    );
  }
  if (readSecureUrl(endpoint) === null || endpoint.includes('#')) {
    throw new ClientError(
      'authorization_url_refused',
      'The authorization endpoint is not a URL that may be opened.',
    );
  }
  return endpoint;
}
