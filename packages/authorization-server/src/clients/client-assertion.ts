/** Client authentication by `private_key_jwt`: validates the assertion's claims and prevents its replay. */
import { hash } from 'node:crypto';
import type { ServerContext } from '../context.ts';
import { authenticationMethodsOf, type ResolvedClient } from './client.ts';
import type { ClientKeys } from './client-keys.ts';
import { clientAssertionAlgorithms, MAX_ASSERTION_LENGTH } from './read-client-credentials.ts';
import type { VerifiedClientAssertion, VerifyClientAssertion } from './verify-client-assertion.ts';

/** Seconds until an assertion may expire at most. */
const MAX_LIFETIME = 3600;
/** Clock tolerance in seconds. */
const TOLERANCE = 30;

/** Returns why an assertion is rejected; `null` when it is valid, and consumed. */
export type ValidateClientAssertion = (
  client: ResolvedClient,
  assertion: string,
  site: string | null,
) => Promise<string | null>;

/** @see RFC 7523 §3, draft-ietf-oauth-rfc7523bis §4 */
export function createValidateClientAssertion(
  { store, clock, options: { issuer } }: Pick<ServerContext, 'store' | 'clock' | 'options'>,
  clientKeys: ClientKeys,
): ValidateClientAssertion {
  let verifier: Promise<VerifyClientAssertion> | null = null;
  return async (client, assertion, site) => {
    if (!authenticationMethodsOf(client.metadata).includes('private_key_jwt'))
      return 'private_key_jwt is not registered';
    if (assertion.length > MAX_ASSERTION_LENGTH) return 'assertion: too long';
    verifier ??= loadVerifier();
    const verified = await (await verifier)(client, assertion, site);
    if ('issue' in verified) return `assertion: ${verified.issue}`;
    const issue = issueOf(verified.payload);
    if (issue !== null) return `assertion: ${issue}`;
    const { jti, exp = 0 } = verified.payload;
    const unique = hash('sha256', JSON.stringify([client.id, jti]), 'base64url');
    // Point of no return: an assertion is accepted once (replay).
    return (await store.consumeClientAssertion(unique, exp + TOLERANCE)) ? null : 'assertion: used before';
  };

  /** Most servers never see an assertion, so the verifier is loaded with the first. */
  async function loadVerifier(): Promise<VerifyClientAssertion> {
    const { createVerifyClientAssertion: createVerifyAssertion } = await import(
      './verify-client-assertion.ts'
    );
    const policy = { algorithms: clientAssertionAlgorithms, issuer, tolerance: TOLERANCE };
    return createVerifyAssertion(policy, clock, clientKeys);
  }

  function issueOf({ aud, exp = 0, iat, jti }: VerifiedClientAssertion['payload']): string | null {
    // The audience MUST be the issuer alone: an assertion for several servers could be replayed among them.
    if (typeof aud !== 'string') return 'its audience is not one string';
    if (exp > clock() + MAX_LIFETIME + TOLERANCE) return `it lives longer than ${MAX_LIFETIME} seconds`;
    if (iat !== undefined && !(iat <= clock() + TOLERANCE)) return 'it was issued in the future';
    return typeof jti === 'string' && jti !== '' ? null : 'it has no jti';
  }
}
