/** Passkeys (WebAuthn): options for the browser, and verification of its responses. */
import { isIP } from 'node:net';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { ServerContext } from '../context.ts';
import { displayName } from '../display-name.ts';
import type { AccountRecord, PasskeyRecord } from '../store/index.ts';
import { createOneTimeTokens } from './one-time-tokens.ts';

/** The proof that a passkey was used. */
interface PasskeyLogin {
  readonly account: AccountRecord;
  /** User verification by the device (face, fingerprint, PIN): counts as two factors. */
  readonly isVerified: boolean;
}

export type Passkeys = NonNullable<ReturnType<typeof createPasskeys>>;

/** Passkeys per account. */
export const MAX_PASSKEYS = 20;

/** @returns `null` for an issuer at an IP address: a relying party identifier is a domain. @see Web Authentication §5.1.3 */
export function createPasskeys(context: ServerContext) {
  const { store, clock, events } = context;
  const { issuer, name: serverName, lifetimes } = context.options;
  const { origin, hostname } = new URL(issuer);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null;
  const challenges = createOneTimeTokens(context, 'passkey', lifetimes.transaction);
  const expected = (bound: readonly string[]) => ({
    expectedChallenge: (challenge: string) => challenges.isValid(challenge, ...bound),
    expectedOrigin: origin,
    expectedRPID: hostname,
    requireUserVerification: false,
  });

  return {
    /** Options for a login with any passkey of this server. @see Web Authentication §5.5 */
    requestOptions: (bound: readonly string[]): PasskeyOptions => ({
      challenge: challenges.create('get', ...bound),
      rpId: hostname,
      allowCredentials: [],
      userVerification: 'preferred',
    }),

    /** Options for creating a passkey on a device that has none of the `known` ones. @see Web Authentication §5.4 */
    creationOptions: (
      { id, email }: AccountRecord,
      known: readonly PasskeyRecord[],
      bound: readonly string[],
    ): PasskeyOptions => ({
      challenge: challenges.create('create', ...bound),
      rp: { id: hostname, name: serverName },
      user: { id: Buffer.from(id).toString('base64url'), name: email, displayName: email },
      pubKeyCredParams: PASSKEY_ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
      excludeCredentials: known.map(({ id, transports }) => ({ type: 'public-key', id, transports })),
      authenticatorSelection: AUTHENTICATOR_SELECTION,
      attestation: 'none',
    }),

    /** Verifies a new passkey; `null` if it is not valid. Stores only the consumed challenge. */
    async verifyRegistration(
      { id: accountId }: AccountRecord,
      json: string,
      name: string,
      bound: readonly string[],
    ): Promise<PasskeyRecord | null> {
      const response = readPasskeyResponse<RegistrationResponseJSON>(json);
      if (response === null) return null;
      const { verifyRegistrationResponse } = await library();
      const verified = await withoutStatement(response)
        .then((unattested) =>
          verifyRegistrationResponse({
            response: unattested,
            ...expected(['create', ...bound]),
            supportedAlgorithmIDs: [...PASSKEY_ALGORITHMS],
          }),
        )
        .catch(toNull);
      if (verified?.verified !== true || !(await challenges.consume(challengeOf(response)))) return null;
      const { credential } = verified.registrationInfo;
      return {
        id: credential.id,
        accountId,
        publicKey: Buffer.from(credential.publicKey).toString('base64url'),
        counter: credential.counter,
        transports: (credential.transports ?? [])
          .filter((transport) => /^[a-z-]{1,20}$/.test(transport))
          .slice(0, 8),
        name: displayName(name) === '' ? 'Passkey' : displayName(name),
        createdAt: clock(),
        lastUsedAt: null,
      };
    },

    /** Verifies a login; `null` if it is not valid. */
    async verifyLogin(json: string, bound: readonly string[]): Promise<PasskeyLogin | null> {
      const response = readPasskeyResponse<AuthenticationResponseJSON>(json);
      const passkey = response === null ? null : await store.findPasskey(response.id);
      const account = passkey === null ? null : await store.findAccount(passkey.accountId);
      if (response === null || passkey === null || account === null || account.disabledAt !== null)
        return null;
      if (!belongsTo(account, response.response.userHandle)) return null;
      const { verifyAuthenticationResponse } = await library();
      const verified = await verifyAuthenticationResponse({
        response,
        ...expected(['get', ...bound]),
        // The store checks and updates the signature counter atomically.
        credential: { id: passkey.id, publicKey: bytesOf(passkey.publicKey), counter: 0 },
      }).catch(toNull);
      if (verified?.verified !== true || !(await challenges.consume(challengeOf(response)))) return null;
      const { newCounter, userVerified } = verified.authenticationInfo;
      // Point of no return: the signature counter is updated.
      if (!(await store.recordPasskeyUse(passkey.id, newCounter, clock()))) {
        events({ type: 'passkey.clone_detected', accountId: account.id });
        return null;
      }
      return { account, isVerified: userVerified };
    },
  };
}

/** Loaded on first use: it is slow to load, and most processes never verify a passkey. */
function library(): Promise<typeof import('@simplewebauthn/server')> {
  return import('@simplewebauthn/server');
}

/**
 * What a browser sends for `attestation: 'none'`; some send the statement of the authenticator all the same.
 * "Set the value of fmt to "none", and set the value of attStmt to be an empty CBOR map." Nothing here depends on
 * a statement, and the library would fetch revocation lists that its certificates name.
 * @see Web Authentication §5.1.3, step 22; §8.7
 */
async function withoutStatement(given: RegistrationResponseJSON): Promise<RegistrationResponseJSON> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await import('@simplewebauthn/server/helpers');
  const attested = decodeAttestationObject(isoBase64URL.toBuffer(given.response.attestationObject));
  const object = isoCBOR.encode(
    new Map<string, string | Uint8Array | Map<string, string>>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, string>()],
      ['authData', attested.get('authData')],
    ]),
  );
  return { ...given, response: { ...given.response, attestationObject: isoBase64URL.fromBuffer(object) } };
}

/** The library throws on every invalid response. */
function toNull(error: unknown): null {
  if (error instanceof Error) return null;
  throw error;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text, 'base64url'));
}

/** JSON for the browser. */
type PasskeyOptions = Readonly<Record<string, unknown>>;

/** ES256, EdDSA, RS256. */
const PASSKEY_ALGORITHMS: readonly number[] = [-7, -8, -257];

/** Discoverable passkeys; user verification makes one count as both factors. @see WebAuthn §5.4.4 */
const AUTHENTICATOR_SELECTION: PasskeyOptions['authenticatorSelection'] = {
  residentKey: 'required',
  requireResidentKey: true,
  userVerification: 'preferred',
};

/** Characters: the largest attestations are far smaller. */
const MAX_RESPONSE_LENGTH = 16_384;

/** Parses what the browser's `toJSON` wrote and checks the members used here; the library checks the rest. */
function readPasskeyResponse<T extends AuthenticationResponseJSON | RegistrationResponseJSON>(
  text: string,
): T | null {
  if (text.length > MAX_RESPONSE_LENGTH) return null;
  try {
    const response: unknown = JSON.parse(text);
    return isPasskeyResponse(response) ? (response as unknown as T) : null;
  } catch {
    return null;
  }
}

function isPasskeyResponse(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { id, response } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== 'string' || !/^[\w-]{1,1400}$/.test(id)) return false;
  if (typeof response !== 'object' || response === null) return false;
  // The library passes these on as they are.
  const { transports = [] } = response as { readonly transports?: unknown };
  return Array.isArray(transports) && transports.every((transport) => typeof transport === 'string');
}

/** A discoverable credential MUST return the user handle. @see Web Authentication §7.2, step 6 */
function belongsTo(account: AccountRecord, userHandle: unknown): boolean {
  return typeof userHandle === 'string' && Buffer.from(userHandle, 'base64url').toString() === account.id;
}

/** The challenge in a response. */
function challengeOf({ response }: AuthenticationResponseJSON | RegistrationResponseJSON): string {
  const clientData = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString()) as {
    challenge: string;
  };
  return clientData.challenge;
}
