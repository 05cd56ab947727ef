/** Passkeys: what browsers are asked, and the judgement of what they answer. */

import { isIP } from 'node:net';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Configuration } from '../configuration.ts';
import { presentable } from '../presentable.ts';
import type { AccountRecord, PasskeyRecord } from '../store/index.ts';
import { createPasskeyChallenges } from './passkey-challenges.ts';

/** The proof that a passkey of an account was used. */
interface PasskeyLogin {
  readonly account: AccountRecord;
  /** Whether the device asked who is there (a face, a finger, a code), so that it stands for two factors. */
  readonly isVerified: boolean;
}

export interface Passkeys {
  /** For signing in with any passkey that the browser has for this server. */
  requestOptions(bound: readonly string[]): PasskeyOptions;
  /** For making a passkey of an account, on a device that holds none of the `known` ones. */
  creationOptions(
    account: AccountRecord,
    known: readonly PasskeyRecord[],
    bound: readonly string[],
  ): PasskeyOptions;
  /** Judges a new passkey and names it; `null` when it is not to be trusted. Nothing is stored but its spent challenge. */
  verifyRegistration(
    account: AccountRecord,
    answer: string,
    name: string,
    bound: readonly string[],
  ): Promise<PasskeyRecord | null>;
  /** Judges a sign-in; `null` when nobody is signed in by it. */
  verifyLogin(answer: string, bound: readonly string[]): Promise<PasskeyLogin | null>;
}

/** Passkeys that one account may have. */
export const MAX_PASSKEYS = 20;

/** `null` where browsers have no passkeys: their servers have names, not addresses. @see Web Authentication §5.1.3 */
export function createPasskeys(configuration: Configuration): Passkeys | null {
  const { issuer, name: serverName, store, clock, events } = configuration;
  const { origin, hostname } = new URL(issuer);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null;
  const challenges = createPasskeyChallenges(configuration);
  const expected = (bound: readonly string[]) => ({
    expectedChallenge: (challenge: string) => challenges.isValid(challenge, ...bound),
    expectedOrigin: origin,
    expectedRPID: hostname,
    requireUserVerification: false,
  });

  return {
    requestOptions: (bound) => requestOptions(hostname, challenges.create('get', ...bound)),

    creationOptions(account, known, bound) {
      const challenge = challenges.create('create', ...bound);
      return creationOptions({ id: hostname, name: serverName }, account, known, challenge);
    },

    async verifyRegistration(account, answer, name, bound) {
      const response = readPasskeyResponse<RegistrationResponseJSON>(answer);
      if (response === null) return null;
      const { verifyRegistrationResponse } = await library();
      const judged = await verifyRegistrationResponse({
        response,
        ...expected(['create', ...bound]),
        supportedAlgorithmIDs: [...PASSKEY_ALGORITHMS],
      }).catch(refused);
      if (judged?.verified !== true || !(await challenges.consume(challengeOf(response)))) return null;
      const { credential } = judged.registrationInfo;
      return {
        id: credential.id,
        accountId: account.id,
        publicKey: Buffer.from(credential.publicKey).toString('base64url'),
        counter: credential.counter,
        transports: (credential.transports ?? [])
          .filter((transport) => /^[a-z-]{1,20}$/.test(transport))
          .slice(0, 8),
        name: presentable(name) === '' ? 'Passkey' : presentable(name),
        createdAt: clock(),
        lastUsedAt: null,
      };
    },

    async verifyLogin(answer, bound) {
      const response = readPasskeyResponse<AuthenticationResponseJSON>(answer);
      const passkey = response === null ? null : await store.findPasskey(response.id);
      const account = passkey === null ? null : await store.findAccount(passkey.accountId);
      if (response === null || passkey === null || account === null || account.disabledAt !== null)
        return null;
      if (!belongsTo(account, response.response.userHandle)) return null;
      const { verifyAuthenticationResponse } = await library();
      const judged = await verifyAuthenticationResponse({
        response,
        ...expected(['get', ...bound]),
        // The store judges the counter, in the same fact that notes it.
        credential: { id: passkey.id, publicKey: bytesOf(passkey.publicKey), counter: 0 },
      }).catch(refused);
      if (judged?.verified !== true || !(await challenges.consume(challengeOf(response)))) return null;
      const { newCounter, userVerified } = judged.authenticationInfo;
      // Point of no return: the use is counted.
      if (!(await store.recordPasskeyUse(passkey.id, newCounter, clock()))) {
        events({ type: 'passkey.clone_detected', accountId: account.id });
        return null;
      }
      return { account, isVerified: userVerified };
    },
  };
}

/** It takes long to load, and most processes that start never meet a passkey. */
function library(): Promise<typeof import('@simplewebauthn/server')> {
  return import('@simplewebauthn/server');
}

/** The library throws at whatever is not as it should be. */
function refused(error: unknown): null {
  if (error instanceof Error) return null;
  throw error;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text, 'base64url'));
}

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

/** Characters of an answer: the largest attestations are far smaller. */
const MAX_RESPONSE_LENGTH = 16_384;

/** What a browser's `toJSON` wrote, as far as we ask it ourselves; `null` when it is none. */
export function readPasskeyResponse<T extends AuthenticationResponseJSON | RegistrationResponseJSON>(
  text: string,
): T | null {
  if (text.length > MAX_RESPONSE_LENGTH) return null;
  try {
    const answer: unknown = JSON.parse(text);
    return isPasskeyResponse(answer) ? (answer as unknown as T) : null;
  } catch {
    return null;
  }
}

function isPasskeyResponse(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null) return false;
  const { id, response } = answer as Readonly<Record<string, unknown>>;
  if (typeof id !== 'string' || !/^[\w-]{1,1400}$/.test(id)) return false;
  return typeof response === 'object' && response !== null;
}

/** A passkey says whose it is; one that a browser found by itself MUST. @see Web Authentication §7.2, step 6 */
export function belongsTo(account: AccountRecord, userHandle: unknown): boolean {
  return typeof userHandle === 'string' && Buffer.from(userHandle, 'base64url').toString() === account.id;
}

/** The challenge that was answered. */
export function challengeOf({ response }: AuthenticationResponseJSON | RegistrationResponseJSON): string {
  const seen = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString()) as {
    challenge: string;
  };
  return seen.challenge;
}
