/** Assertions about a user, for token exchange at another authorization server: signed by this server, and no access tokens. */
import type { ServerContext } from '../context.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { signJwt } from '../keys/signing-key.ts';
import { newSecret } from '../secrets.ts';

/** Seconds: used at once. */
const ASSERTION_LIFETIME = 120;

/**
 * Signs a JWT about a user.
 * @param audience the authorization server that it is for
 * @see RFC 8693 §3, RFC 7519 §4.1
 */
export type SignUserAssertion = (
  user: { readonly subject: string; readonly clientId: string },
  audience: string,
) => Promise<string>;

export function createSignUserAssertion(
  { options: { issuer }, clock }: Pick<ServerContext, 'options' | 'clock'>,
  keys: KeyRing,
): SignUserAssertion {
  return async ({ subject, clientId }, audience) => {
    await keys.refresh();
    const iat = clock();
    const claims = {
      iss: issuer,
      sub: subject,
      aud: audience,
      client_id: clientId,
      iat,
      exp: iat + ASSERTION_LIFETIME,
      jti: newSecret(),
    };
    // Not `at+jwt`, so that no protected resource accepts it. @see RFC 9068 §2.1
    return signJwt(keys.now().signing, 'JWT', claims);
  };
}
