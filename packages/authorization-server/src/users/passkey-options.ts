/** What a browser is asked about passkeys, as JSON. */
import type { AccountRecord, PasskeyRecord } from '../store/index.ts';

/** What a page gives to the browser. */
export type PasskeyOptions = Readonly<Record<string, unknown>>;

/** ES256, EdDSA, RS256. */
export const PASSKEY_ALGORITHMS: readonly number[] = [-7, -8, -257];

/** For signing in with any passkey that the browser has for this server. @see Web Authentication §5.5 */
export function requestOptions(hostname: string, challenge: string): PasskeyOptions {
  return { challenge, rpId: hostname, allowCredentials: [], userVerification: 'preferred' };
}

/**
 * For making a passkey of an account, on a device that holds none of the `known` ones.
 * @param server the host name of this server, and what people call it
 * @see Web Authentication §5.4
 */
export function creationOptions(
  server: { readonly id: string; readonly name: string },
  { id, email }: AccountRecord,
  known: readonly PasskeyRecord[],
  challenge: string,
): PasskeyOptions {
  return {
    challenge,
    rp: server,
    user: { id: Buffer.from(id).toString('base64url'), name: email, displayName: email },
    pubKeyCredParams: PASSKEY_ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: known.map(({ id, transports }) => ({ type: 'public-key', id, transports })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'preferred',
    },
    attestation: 'none',
  };
}
