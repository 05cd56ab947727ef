/** What a browser answers about passkeys: read as far as this server asks it itself; the rest is the library's. */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { AccountRecord } from '../store/index.ts';

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
