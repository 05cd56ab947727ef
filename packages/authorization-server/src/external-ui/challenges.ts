/** Challenges and results of the external UI: encrypted, short-lived and single-use messages that the browser carries. */
import type { Scopes } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createEncryptor, DecryptionError } from '../encryption/encryptor.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import type { Language } from '../ui/texts/languages.ts';

interface EncryptedMessage {
  readonly id: string;
  /** Epoch seconds. */
  readonly until: number;
}

/** What the application should show: login or consent. */
export interface ExternalUiChallenge extends EncryptedMessage {
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
interface ChallengeResult extends EncryptedMessage {
  readonly challenge: ExternalUiChallenge;
  readonly decision: ExternalDecision;
}

export interface Challenges {
  /** A challenge that lives as long as a transaction. */
  encryptChallenge(about: Omit<ExternalUiChallenge, keyof EncryptedMessage>): string;
  /** `null` when it is forged or expired. */
  decryptChallenge(text: string): ExternalUiChallenge | null;
  /** The same, expired or not. */
  decryptExpiredChallenge(text: string): ExternalUiChallenge | null;
  /** Consumes a challenge atomically: of concurrent calls, one returns `true`. */
  consumeChallenge(challenge: ExternalUiChallenge): Promise<boolean>;
  encryptResult(challenge: ExternalUiChallenge, decision: ExternalDecision): string;
  /** `null` when it is forged or expired. */
  decryptResult(text: string): ChallengeResult | null;
  /** Consumes a result atomically: of concurrent calls, one returns `true`. */
  consumeResult(result: ChallengeResult): Promise<boolean>;
}

/** Seconds in which a browser must follow the redirect with a result. */
const RESULT_LIFETIME = 120;
/** Characters: more than any message has. */
const MAX_LENGTH = 16_384;

/** The encryption context says which kind a message is, so that neither is accepted as the other. */
type EncryptionContext = 'external UI challenge' | 'external UI result';

export function createChallenges(context: Pick<ServerContext, 'store' | 'clock' | 'options'>): Challenges {
  const { store, clock, options } = context;
  const { masterKey, previousMasterKeys, lifetimes } = options;
  const encryptor = createEncryptor(masterKey, previousMasterKeys);

  const encrypt = (message: EncryptedMessage, kind: EncryptionContext) =>
    Buffer.from(encryptor.encrypt(Buffer.from(JSON.stringify(message)), kind)).toString('base64url');
  const decrypt = <T extends EncryptedMessage>(text: string, kind: EncryptionContext): T | null => {
    if (text.length > MAX_LENGTH) return null;
    try {
      // Authenticated encryption: only this server made it, so it has the shape that it was encrypted with.
      return JSON.parse(encryptor.decrypt(Buffer.from(text, 'base64url'), kind).toString()) as T;
    } catch (error) {
      if (error instanceof DecryptionError) return null;
      throw error;
    }
  };
  const unlessExpired = <T extends EncryptedMessage>(message: T | null) =>
    message !== null && message.until > clock() ? message : null;
  const consume = ({ id, until }: EncryptedMessage, kind: EncryptionContext) =>
    store.consumeClientAssertion(hashSecret(`${kind} ${id}`), until);

  return {
    encryptChallenge(about) {
      const message: ExternalUiChallenge = {
        ...about,
        id: newSecret(),
        until: clock() + lifetimes.transaction,
      };
      return encrypt(message, 'external UI challenge');
    },
    decryptChallenge: (text) => unlessExpired(decrypt<ExternalUiChallenge>(text, 'external UI challenge')),
    decryptExpiredChallenge: (text) => decrypt<ExternalUiChallenge>(text, 'external UI challenge'),
    consumeChallenge: (challenge) => consume(challenge, 'external UI challenge'),
    encryptResult(challenge, decision) {
      const message = { challenge, decision, id: newSecret(), until: clock() + RESULT_LIFETIME };
      return encrypt(message, 'external UI result');
    },
    decryptResult: (text) => unlessExpired(decrypt<ChallengeResult>(text, 'external UI result')),
    consumeResult: (result) => consume(result, 'external UI result'),
  };
}
