/** Challenges and results of the external UI: encrypted, short-lived and single-use messages that the browser carries. */
import type { Scopes } from '@portcullis/protocol';
import { createEncryptedJson } from '../encryption/encrypted-json.ts';
import type { PageServices } from '../page-context.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import type { Language } from '../ui/texts/languages.ts';

interface MessageFrame {
  readonly id: string;
  /** Epoch seconds. */
  readonly until: number;
}

/** What the application should show: login or consent. */
export interface ExternalUiChallenge extends MessageFrame {
  readonly kind: 'login' | 'consent';
  /** Parameters by which the login target is found again. */
  readonly loginTarget: Readonly<Record<string, string>>;
  /** Digest of the transaction, browser and session that the result must come back to. */
  readonly csrfBinding: string;
  readonly language: Language;
  /** Whether the user must log in again despite a session. */
  readonly requiresFreshLogin: boolean;
  /** The user who is asked to consent; `null` for a login. */
  readonly accountId: string | null;
  /** Digest of the consent request; `null` for a login. */
  readonly consentRequest: string | null;
}

/** The application's response to a challenge. */
export type ExternalDecision =
  | { readonly kind: 'login'; readonly accountId: string; readonly seconds: number }
  | { readonly kind: 'consent'; readonly scopes: Scopes; readonly workspace: string }
  | { readonly kind: 'refused' };

/** A decision on its way back through the browser. */
interface ChallengeResult extends MessageFrame {
  readonly challenge: ExternalUiChallenge;
  readonly decision: ExternalDecision;
}

interface EncryptedMessages<T extends MessageFrame> {
  encrypt(message: Omit<T, keyof MessageFrame>): string;
  /** `null` when it is forged or expired. */
  decrypt(text: string): T | null;
  /** The same, expired or not. */
  decryptExpired(text: string): T | null;
  /** Consumes a message atomically: of concurrent calls, one returns `true`. */
  consume(message: T): Promise<boolean>;
}

export interface ExternalUiMessages {
  /** A challenge is valid as long as a transaction. */
  readonly challenges: EncryptedMessages<ExternalUiChallenge>;
  readonly results: EncryptedMessages<ChallengeResult>;
}

/** Seconds in which a browser must follow the redirect with a result. */
const RESULT_LIFETIME = 120;
/** Characters: more than any message has. */
const MAX_LENGTH = 16_384;

export function createExternalUiMessages({
  store,
  clock,
  options,
  encryptor,
}: PageServices): ExternalUiMessages {
  function messages<T extends MessageFrame>(context: string, lifetime: number): EncryptedMessages<T> {
    const { encrypt, decrypt } = createEncryptedJson<T>(encryptor, context, MAX_LENGTH);
    return {
      encrypt: (message) => encrypt({ ...message, id: newSecret(), until: clock() + lifetime } as T),
      decrypt(text) {
        const message = decrypt(text);
        return message !== null && message.until > clock() ? message : null;
      },
      decryptExpired: decrypt,
      consume: ({ id, until }) => store.consumeClientAssertion(hashSecret(`${context} ${id}`), until),
    };
  }
  return {
    challenges: messages('external UI challenge', options.lifetimes.transaction),
    results: messages('external UI result', RESULT_LIFETIME),
  };
}

/** What a challenge and its result are bound to, as one text. */
export function digestOf(csrfBinding: readonly string[]): string {
  return hashSecret(JSON.stringify(csrfBinding));
}
