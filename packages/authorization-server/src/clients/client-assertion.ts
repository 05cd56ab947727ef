/** Client assertions: a client proves itself by a JWT that it signed for this server, and that works once. */

import { hash } from 'node:crypto';
import type { ServerContext } from '../context.ts';
import { authenticationMethodsOf, type ResolvedClient } from './client.ts';
import type { ClientKeys } from './client-keys.ts';
import { clientAssertionAlgorithms, MAX_ASSERTION_LENGTH } from './read-client-credentials.ts';
import type { VerifiedClientAssertion, VerifyClientAssertion } from './verify-client-assertion.ts';

/** Seconds that an assertion may still have to live. */
const MAX_ASSERTION_LENGTH_LIFE = 3600;
/** Seconds by which clocks may differ. */
const TOLERANCE = 30;

/** Why an assertion that came from a network does not prove its client; `null` when it does. Then it is spent. */
export type ValidateClientAssertion = (
  client: ResolvedClient,
  assertion: string,
  network: string | null,
) => Promise<string | null>;

/** @see RFC 7523 §3, draft-ietf-oauth-rfc7523bis §4 */
export function createValidateClientAssertion(
  { store, clock, options: { issuer } }: Pick<ServerContext, 'store' | 'clock' | 'options'>,
  clientKeys: ClientKeys,
): ValidateClientAssertion {
  let verifier: Promise<VerifyClientAssertion> | null = null;
  return async (client, assertion, network) => {
    if (!authenticationMethodsOf(client.metadata).includes('private_key_jwt'))
      return 'private_key_jwt is not registered';
    if (assertion.length > MAX_ASSERTION_LENGTH) return 'assertion: too long';
    verifier ??= loadVerifier();
    const verified = await (await verifier)(client, assertion, network);
    if ('issue' in verified) return `assertion: ${verified.issue}`;
    const issue = issueOf(verified.payload);
    if (issue !== null) return `assertion: ${issue}`;
    const { jti, exp = 0 } = verified.payload;
    const unique = hash('sha256', JSON.stringify([client.id, jti]), 'base64url');
    // Point of no return: of all who present this assertion, one is the first.
    return (await store.consumeClientAssertion(unique, exp + TOLERANCE)) ? null : 'assertion: used before';
  };

  /** Most servers never see an assertion: what reads them is loaded with the first. */
  async function loadVerifier(): Promise<VerifyClientAssertion> {
    const { createVerifyClientAssertion: createVerifyAssertion } = await import(
      './verify-client-assertion.ts'
    );
    const law = { algorithms: clientAssertionAlgorithms, issuer, tolerance: TOLERANCE };
    return createVerifyAssertion(law, clock, clientKeys);
  }

  function issueOf({ aud, exp = 0, iat, jti }: VerifiedClientAssertion['payload']): string | null {
    // The audience MUST be the issuer alone: one that is meant for several servers could be replayed among them.
    if (typeof aud !== 'string') return 'its audience is not one string';
    if (exp > clock() + MAX_ASSERTION_LENGTH_LIFE + TOLERANCE)
      return `it lives longer than ${MAX_ASSERTION_LENGTH_LIFE} seconds`;
    if (iat !== undefined && !(iat <= clock() + TOLERANCE)) return 'it was issued in the future';
    return typeof jti === 'string' && jti !== '' ? null : 'it has no jti';
  }
}
