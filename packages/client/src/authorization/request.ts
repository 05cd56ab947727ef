/** The authorization request: everything that is checked before a browser opens, and the record that its answer is judged by. */
import {
  authorizationRequestUrl,
  base64url,
  CODE_CHALLENGE_METHOD,
  deriveCodeChallenge,
  isSecureUrl,
  readWebUrl,
  type Scopes,
} from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { requireTokenEndpoint } from '../discovery/endpoints.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import type { PrivateEcJwk } from '../jwk.ts';
import type { Registration } from '../registration/registration.ts';
import type { PendingAuthorization } from './pending.ts';

/** Ten minutes for a person to sign in. */
const PATIENCE = 600_000;

/** What an authorization request is made of. */
export interface AuthorizationRequestInput {
  readonly discovery: DiscoveryResult;
  readonly registration: Registration;
  readonly redirectUri: string;
  /** None by default: the server decides. */
  readonly scopes?: Scopes;
  /** The person's name for what comes of it; `default` by default. */
  readonly account?: string;
  /** The key that the token will be bound to; `null`, the default: a bearer token. */
  readonly dpopKey?: PrivateEcJwk | null;
  /** What the answer has to be brought with, such as the session of the person at a host that serves several. */
  readonly binding?: string | null;
  /** Sent as `prompt`, such as `select_account`. */
  readonly prompt?: string | null;
  /** Epoch milliseconds. */
  readonly now?: number;
  /** Cryptographically random bytes. */
  readonly random?: (bytes: number) => Uint8Array;
}

/** The platform's own. */
function randomBytes(bytes: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(bytes));
}

/** What a person's browser is sent to, and what is kept until the answer comes. */
export interface StartedAuthorization {
  readonly url: string;
  readonly pending: PendingAuthorization;
}

/**
 * Refuses a server whose support for PKCE is not known where the revision wants it known.
 * If code_challenge_methods_supported is absent, clients MUST refuse to proceed.
 * @throws ClientError `pkce_unsupported`
 */
export function checkPkceSupport({ profile, metadata, issuer }: DiscoveryResult): void {
  if (profile.pkceSupport === 'assume') return;
  if (metadata.code_challenge_methods_supported?.includes(CODE_CHALLENGE_METHOD) === true) return;
  throw new ClientError(
    'pkce_unsupported',
    `${sanitizeText(issuer)} does not say that it supports PKCE with S256, so signing in there would not be safe. ` +
      'If you know that it does, pin revision 2025-06-18.',
  );
}

/**
 * Writes the request with a verifier and a state of its own.
 * @throws ClientError `pkce_unsupported`, `metadata_invalid` or `authorization_url_refused`
 * @see seed 2.4, OAuth 2.1 draft 13 §4.1.1
 */
export async function authorizationRequest(facts: AuthorizationRequestInput): Promise<StartedAuthorization> {
  const { discovery, registration, redirectUri, scopes = [], random = randomBytes } = facts;
  checkPkceSupport(discovery);
  const endpoint = checkAuthorizationEndpoint(discovery);
  const codeVerifier = base64url(random(32));
  const state = base64url(random(32));
  const { resource, profile, metadata } = discovery;
  const url = authorizationRequestUrl(endpoint, {
    clientId: registration.clientId,
    codeChallenge: await deriveCodeChallenge(codeVerifier),
    ...{ redirectUri, state, resource, scopes },
    ...promptFor(facts),
  });
  const pending: PendingAuthorization = {
    ...{ state, codeVerifier, registration, redirectUri, resource, scopes },
    server: discovery.server,
    account: facts.account ?? 'default',
    issuer: discovery.issuer,
    issuerAdvertised: metadata.authorization_response_iss_parameter_supported === true,
    issuerRule: profile.responseIssuer,
    tokenEndpoint: requireTokenEndpoint(discovery),
    dpopKey: facts.dpopKey ?? null,
    binding: facts.binding ?? null,
    expiresAt: (facts.now ?? Date.now()) + PATIENCE,
  };
  return { url, pending };
}

/** OpenID Connect gives offline access only with consent. @see OpenID Connect Core 1.0 §11 */
function promptFor({ prompt = null, scopes = [] }: AuthorizationRequestInput): { prompt?: string } {
  if (prompt !== null) return { prompt };
  return scopes.includes('offline_access') ? { prompt: 'consent' } : {};
}

/** The browser is sent to https addresses only, http to this computer. @see seed 5.3(6) */
function checkAuthorizationEndpoint({ metadata, issuer }: DiscoveryResult): string {
  const endpoint = metadata.authorization_endpoint;
  if (endpoint === undefined) {
    throw new ClientError(
      'metadata_invalid',
      `${sanitizeText(issuer)} names no authorization endpoint: people cannot sign in.`,
    );
  }
  const url = readWebUrl(endpoint);
  if (url === null || !isSecureUrl(url) || endpoint.includes('#')) {
    throw new ClientError(
      'authorization_url_refused',
      'The address of the sign-in page is not one that may be opened.',
    );
  }
  return endpoint;
}
