/** The server's challenge: the request that provokes it, and what its `WWW-Authenticate` header says about access tokens. */
import {
  type AuthenticationRequirement,
  type Challenge,
  parseChallenges,
  readLenientScopes,
  type Scopes,
} from '@portcullis/protocol';
import { getRequest, type OAuthRequest, type OAuthResponse } from '../transport.ts';

/** A parsed challenge. Absent parts are `null`. */
export interface ServerChallenge {
  /** URL of the protected resource metadata, as sent. */
  readonly resourceMetadata: string | null;
  /** Required scopes; `null` when the challenge has none. */
  readonly scopes: Scopes | null;
  /** An OAuth error code such as `invalid_token` or `insufficient_scope`. */
  readonly error: string | null;
  /** The server accepts DPoP-bound tokens. */
  readonly dpop: boolean;
  /** The authentication of the user that the operation demands; absent: none. @see RFC 9470 §3 */
  readonly authentication?: AuthenticationRequirement;
  /** The server accepts bearer tokens too. */
  readonly bearer?: boolean;
}

/** The challenge of a server that sent none. */
export const NO_CHALLENGE: ServerChallenge = {
  resourceMetadata: null,
  scopes: null,
  error: null,
  dpop: false,
};

/**
 * The request without a token that a protected server responds to with a challenge.
 * @throws ClientError `insecure_url`
 * @see RFC 9728 §5
 */
export function challengeRequest(server: string): OAuthRequest {
  return getRequest(server, { accept: 'application/json, text/event-stream' });
}

/** Reads the challenge from the response; only a 401 has one. @see RFC 9110 §11.6.1, RFC 6750 §3, RFC 9728 §5.1 */
export function processChallengeResponse({
  status,
  headers,
}: Pick<OAuthResponse, 'status' | 'headers'>): ServerChallenge {
  return status === 401 ? readServerChallenge(headers) : NO_CHALLENGE;
}

/**
 * Reads all Bearer and DPoP challenges of a response, in order, and ignores other schemes.
 * @see RFC 9110 §11.6.1, RFC 6750 §3, RFC 9728 §5.1
 */
export function readServerChallenge(headers: Headers): ServerChallenge {
  const challenges = parseChallenges(headers.get('www-authenticate')).filter(({ scheme }) =>
    ['bearer', 'dpop'].includes(scheme.toLowerCase()),
  );
  const scope = firstParameter(challenges, 'scope');
  const scopes = scope === null ? [] : readLenientScopes(scope);
  return {
    resourceMetadata: firstParameter(challenges, 'resource_metadata'),
    scopes: scopes.length === 0 ? null : scopes,
    error: firstParameter(challenges, 'error'),
    ...readAuthentication(challenges),
    dpop: challenges.some(({ scheme }) => scheme.toLowerCase() === 'dpop'),
    bearer: challenges.some(({ scheme }) => scheme.toLowerCase() === 'bearer'),
  };
}

function readAuthentication(challenges: readonly Challenge[]): Pick<ServerChallenge, 'authentication'> {
  if (firstParameter(challenges, 'error') !== 'insufficient_user_authentication') return {};
  const maxAge = firstParameter(challenges, 'max_age') ?? '';
  const acrValues = readLenientScopes(firstParameter(challenges, 'acr_values') ?? '');
  return {
    authentication: {
      ...(/^\d{1,10}$/.test(maxAge) && { maxAge: Number(maxAge) }),
      ...(acrValues.length > 0 && { acrValues }),
    },
  };
}

function firstParameter(challenges: readonly Challenge[], name: string): string | null {
  for (const { parameters } of challenges) {
    const value = parameters.get(name);
    if (value !== undefined && value !== '') return value;
  }
  return null;
}
