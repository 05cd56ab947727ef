/** The error of a rejected assertion, and the clock tolerance: without jose, which only a server that sees assertions loads. */
import { OAuthError } from '@portcullis/protocol';

/** Seconds by which the issuer's clock may differ. */
export const ISSUER_CLOCK_TOLERANCE = 30;

/** One description for every issue: the reason is only for the operator. @see RFC 7523 §3.1 */
export function invalidAssertion(reason: string): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'The assertion must be a current one of a trusted issuer, for this server and this client.',
    { reason: `assertion: ${reason}` },
  );
}
