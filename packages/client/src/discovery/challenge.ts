/** What a protected server says when it refuses, and how it is made to: read from every `WWW-Authenticate` challenge that carries an access token. */
import { type Challenge, parseChallenges, readLenientScopes, type Scopes } from '@portcullis/protocol';
import { getRequest, type OAuthRequest, type OAuthResponse } from '../transport.ts';

/** A server's refusal, understood. Absent parts are `null`. */
export interface ServerChallenge {
  /** Where its protected resource metadata is said to be, as written. */
  readonly resourceMetadata: string | null;
  /** Scopes that it asks for; `null` when it names none. */
  readonly scopes: Scopes | null;
  /** An OAuth error code, such as `invalid_token` or `insufficient_scope`. */
  readonly error: string | null;
  /** It takes tokens that are bound to a key. */
  readonly dpop: boolean;
}

/** Of a server that said nothing. */
export const NO_CHALLENGE: ServerChallenge = {
  resourceMetadata: null,
  scopes: null,
  error: null,
  dpop: false,
};

/** Writes the request without a token that makes a server say what it wants. */
export function challengeRequest(server: string): OAuthRequest {
  return getRequest(server, { accept: 'application/json, text/event-stream' });
}

/** Understands what it said; a server that refuses nobody says nothing. */
export function processChallengeResponse({
  status,
  headers,
}: Pick<OAuthResponse, 'status' | 'headers'>): ServerChallenge {
  return status === 401 ? readServerChallenge(headers) : NO_CHALLENGE;
}

/**
 * Reads a refusal. Bearer and DPoP challenges count, in the order in which they stand, whatever else stands among them.
 * @see RFC 9110 §11.6.1, RFC 6750 §3, RFC 9728 §5.1
 */
export function readServerChallenge(headers: Headers): ServerChallenge {
  const challenges = parseChallenges(headers.get('www-authenticate')).filter(({ scheme }) =>
    ['bearer', 'dpop'].includes(scheme.toLowerCase()),
  );
  const scope = first(challenges, 'scope');
  const scopes = scope === null ? [] : readLenientScopes(scope);
  return {
    resourceMetadata: first(challenges, 'resource_metadata'),
    scopes: scopes.length === 0 ? null : scopes,
    error: first(challenges, 'error'),
    dpop: challenges.some(({ scheme }) => scheme.toLowerCase() === 'dpop'),
  };
}

function first(challenges: readonly Challenge[], name: string): string | null {
  for (const { parameters } of challenges) {
    const value = parameters.get(name);
    if (value !== undefined && value !== '') return value;
  }
  return null;
}
