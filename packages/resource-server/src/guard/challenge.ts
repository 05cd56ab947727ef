/** Builds `WWW-Authenticate` challenges and error responses (RFC 6750, RFC 9728, RFC 9449). */
import {
  type BearerChallenge,
  formatBearerChallenge,
  formatChallenge,
  formatScopes,
  isScope,
  type OAuthError,
  type Scopes,
} from '@portcullis/protocol';
import { type GuardResponse, jsonResponse } from '../guard-response.ts';
import type { ChallengeSettings } from '../settings.ts';

/** The scheme of the request's token, which is the one to challenge. */
export type TokenScheme = 'Bearer' | 'DPoP';

/**
 * Builds the 401 for a request without a token. If the request lacks any authentication information, the resource
 * server SHOULD NOT include an error code.
 * @see RFC 6750 §3.1, RFC 9728 §5.1
 */
export function challengeResponse(settings: ChallengeSettings): GuardResponse {
  const metadata = metadataParameters(settings, settings.scopes);
  const scheme = settings.bearer ? 'Bearer' : 'DPoP';
  // Many clients read only the first challenge.
  const challenges = settings.bearer
    ? [
        formatBearerChallenge(metadata),
        ...(settings.proofAlgorithms === null ? [] : [dpopChallenge(settings, {})]),
      ]
    : [dpopChallenge(settings, metadata)];
  return jsonResponse(
    401,
    {
      error_description: `This resource requires an access token. Send it in the Authorization header, as ${scheme}.`,
      ...metadataMember(settings),
    },
    { 'www-authenticate': challenges.join(', ') },
  );
}

/**
 * Builds the response for an OAuth error; errors about credentials carry a challenge.
 * @see RFC 6750 §3, RFC 9449 §7.1
 */
export function oauthErrorResponse(
  error: OAuthError,
  settings: ChallengeSettings,
  scheme: TokenScheme,
): GuardResponse {
  const required = error.code === 'insufficient_scope' ? [] : settings.scopes;
  const scopes = error.scopes?.filter(isScope) ?? required;
  const isChallenged = CHALLENGED_ERRORS.has(error.code) && error.status < 404;
  const document = {
    error: error.code,
    error_description: error.description,
    ...(error.code === 'insufficient_scope' && { scope: formatScopes(scopes) }),
    ...(isChallenged && metadataMember(settings)),
  };
  return jsonResponse(error.status, document, {
    ...(error.retryAfter !== undefined && { 'retry-after': String(error.retryAfter) }),
    ...(isChallenged && { 'www-authenticate': errorChallenge(error, settings, scopes, scheme) }),
  });
}

/** Error codes about credentials. */
const CHALLENGED_ERRORS: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_token',
  'insufficient_scope',
  'insufficient_user_authentication',
  'invalid_dpop_proof',
  'use_dpop_nonce',
]);

function errorChallenge(
  error: OAuthError,
  settings: ChallengeSettings,
  scopes: Scopes,
  scheme: TokenScheme,
): string {
  const challenge = {
    error: error.code,
    error_description: error.description.replaceAll('=', ' '),
    ...metadataParameters(settings, scopes),
    ...authenticationParameters(error),
  };
  return scheme === 'Bearer' ? formatBearerChallenge(challenge) : dpopChallenge(settings, challenge);
}

function dpopChallenge({ proofAlgorithms }: ChallengeSettings, challenge: BearerChallenge): string {
  return formatChallenge('DPoP', { ...challenge, algs: proofAlgorithms ?? undefined });
}

/** @see RFC 9470 §3 */
function authenticationParameters({ authentication }: OAuthError): BearerChallenge {
  return {
    acr_values: authentication?.acrValues?.join(' '),
    max_age: authentication?.maxAge === undefined ? undefined : String(authentication.maxAge),
  };
}

function metadataParameters(settings: ChallengeSettings, scopes: Scopes): BearerChallenge {
  return {
    ...(settings.metadataUrl === undefined
      ? { realm: settings.realm }
      : { resource_metadata: settings.metadataUrl }),
    scope: scopes.length === 0 ? undefined : formatScopes(scopes),
  };
}

function metadataMember(settings: ChallengeSettings): { resource_metadata?: string } {
  return settings.metadataUrl === undefined ? {} : { resource_metadata: settings.metadataUrl };
}
