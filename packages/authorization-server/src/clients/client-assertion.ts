/** Client assertions: client authentication by `private_key_jwt` (RFC 7523). Validates the claims and prevents replay. */
import { hash } from 'node:crypto';
import { OAuthError } from '@portcullis/protocol';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { authenticationMethodsOf, isVerifiedClient, type ResolvedClient } from './client.ts';
import type { ClientsContext } from './options.ts';
import { CLIENT_CLOCK_TOLERANCE, MAX_ASSERTION_LENGTH } from './read-client-credentials.ts';
import type { VerifiedClientJwt, VerifyClientJwt } from './verify-client-jwt.ts';

/** Seconds until an assertion may expire at most. */
const MAX_LIFETIME = 3600;

/** Accepted `typ` values: not an access token, not a logout token. @see RFC 7523bis §4 */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'client-authentication+jwt']);

/** Returns why an assertion is rejected; `null` when it is valid, and consumed. */
export type ValidateClientAssertion = (
  client: ResolvedClient,
  assertion: string,
  site: string | null,
) => Promise<string | null>;

/** @see RFC 7523 §3, draft-ietf-oauth-rfc7523bis §4 */
export function createValidateClientAssertion(
  context: Pick<ClientsContext, 'store' | 'clock' | 'options' | 'limits'>,
  verify: VerifyClientJwt,
): ValidateClientAssertion {
  const { store, clock } = context;
  const { issuer } = context.options;
  const chargeSite = createRateLimitCheck(context, 'authorizations');
  return async (client, assertion, site) => {
    if (!authenticationMethodsOf(client.metadata).includes('private_key_jwt'))
      return 'private_key_jwt is not registered';
    if (assertion.length > MAX_ASSERTION_LENGTH) return 'assertion: too long';
    const verified = await verify(client, assertion, site, {
      algorithm: client.metadata.token_endpoint_auth_signing_alg,
      types: TYPES,
      issuer: client.id,
      subject: client.id,
      audience: issuer,
      requiredClaims: ['exp', 'jti'],
    });
    if ('issue' in verified) {
      if (verified.issue.includes('"aud"')) throw wrongAudience(issuer, verified.issue);
      return `assertion: ${verified.issue}`;
    }
    const issue = issueOf(verified.payload);
    if (issue !== null) return `assertion: ${issue}`;
    const { jti, exp = 0 } = verified.payload;
    const unique = hash('sha256', JSON.stringify([client.id, jti]), 'base64url');
    // Anyone can register a client and sign: until a user has connected it, each assertion is an anonymous request that stores a row.
    if (client.lastUsedAt === null && !isVerifiedClient(client)) await chargeSite(site);
    // Point of no return: an assertion is accepted once (replay).
    return (await store.consumeClientAssertion(unique, exp + CLIENT_CLOCK_TOLERANCE))
      ? null
      : 'assertion: used before';
  };

  function issueOf({ aud, exp = 0, iat, jti }: VerifiedClientJwt['payload']): string | null {
    // The audience MUST be the issuer alone: an assertion for several servers could be replayed among them.
    if (typeof aud !== 'string') return 'its audience is not one string';
    if (exp > clock() + MAX_LIFETIME + CLIENT_CLOCK_TOLERANCE)
      return `it lives longer than ${MAX_LIFETIME} seconds`;
    if (iat !== undefined && !(iat <= clock() + CLIENT_CLOCK_TOLERANCE)) return 'it was issued in the future';
    return typeof jti === 'string' && jti !== '' ? null : 'it has no jti';
  }
}

/** Of a right signature: libraries of earlier revisions name the token endpoint. @see RFC 7523 §3, draft-ietf-oauth-rfc7523bis */
function wrongAudience(issuer: string, issue: string): OAuthError {
  const description = `Client authentication failed: the audience of the assertion must be the issuer identifier, ${issuer}, not the token endpoint.`;
  return new OAuthError('invalid_client', description, { reason: `assertion: ${issue}` });
}
