/** Tickets: the challenge that the application gets, and the answer that comes back through the browser. Sealed, and used once. */

import type { Scopes } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createEncryptor, DecryptionError } from '../encryption/encryptor.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import type { Language } from '../ui/texts/languages.ts';

interface SignedMessage {
  readonly id: string;
  /** Epoch seconds. */
  readonly until: number;
}

/** A question to the application. */
export interface Challenge extends SignedMessage {
  readonly kind: 'login' | 'consent';
  /** What the errand is found by. */
  readonly loginTarget: Readonly<Record<string, string>>;
  /** Digest of all that must be the same when the answer comes: the request, the browser, who is signed in in it. */
  readonly csrfBinding: string;
  readonly language: Language;
  /** Whether the person has to show anew who they are. */
  readonly isFresh: boolean;
  /** Whom a consent is asked of; `null` for a sign-in. */
  readonly accountId: string | null;
  /** Digest of what is asked; `null` for a sign-in. */
  readonly question: string | null;
}

/** What the application said. */
export type ExternalDecision =
  | { readonly kind: 'login'; readonly accountId: string; readonly seconds: number }
  | { readonly kind: 'consent'; readonly scopes: Scopes; readonly workspace: string }
  | { readonly kind: 'refused' };

/** What the application said, on its way through the browser. */
interface ChallengeResult extends SignedMessage {
  readonly challenge: Challenge;
  readonly decision: ExternalDecision;
}

export interface Challenges {
  /** A challenge, as long as a transaction lives. */
  encryptChallenge(about: Omit<Challenge, keyof SignedMessage>): string;
  /** `null` when it is not ours or not of now. */
  decryptChallenge(text: string): Challenge | null;
  /** The same, however old. */
  decryptExpiredChallenge(text: string): Challenge | null;
  /** Spends a challenge. One fact: of racing calls one answers `true`. */
  consumeChallenge(challenge: Challenge): Promise<boolean>;
  /** An answer, for the moment that a browser needs to follow a redirect. */
  encryptResult(challenge: Challenge, decision: ExternalDecision): string;
  decryptResult(text: string): ChallengeResult | null;
  consumeResult(answer: ChallengeResult): Promise<boolean>;
}

/** Seconds that an answer waits for its browser. */
const PATIENCE = 120;
/** Characters: more than any ticket has. */
const LONGEST = 16_384;

/** What seals a ticket also says which kind it is: none is ever taken for the other. */
type TicketPlace = 'headless challenge' | 'headless answer';

export function createChallenges(context: ServerContext): Challenges {
  const {
    store,
    clock,
    options: { masterKey, previousMasterKeys, lifetimes },
  } = context;
  const sealer = createEncryptor(masterKey, previousMasterKeys);

  const seal = (ticket: SignedMessage, place: TicketPlace) =>
    Buffer.from(sealer.encrypt(Buffer.from(JSON.stringify(ticket)), place)).toString('base64url');
  const open = <T extends SignedMessage>(text: string, place: TicketPlace): T | null => {
    if (text.length > LONGEST) return null;
    try {
      // What opens was sealed here, so it has the form that it was sealed in.
      return JSON.parse(sealer.decrypt(Buffer.from(text, 'base64url'), place).toString()) as T;
    } catch (error) {
      if (error instanceof DecryptionError) return null;
      throw error;
    }
  };
  const young = <T extends SignedMessage>(ticket: T | null) =>
    ticket !== null && ticket.until > clock() ? ticket : null;
  const spend = ({ id, until }: SignedMessage, place: TicketPlace) =>
    store.consumeClientAssertion(hashSecret(`${place} ${id}`), until);

  return {
    encryptChallenge: (about) =>
      seal(
        { ...about, id: newSecret(), until: clock() + lifetimes.transaction } as Challenge,
        'headless challenge',
      ),
    decryptChallenge: (text) => young(open<Challenge>(text, 'headless challenge')),
    decryptExpiredChallenge: (text) => open<Challenge>(text, 'headless challenge'),
    consumeChallenge: (challenge) => spend(challenge, 'headless challenge'),
    encryptResult: (challenge, decision) =>
      seal(
        { challenge, decision, id: newSecret(), until: clock() + PATIENCE } as ChallengeResult,
        'headless answer',
      ),
    decryptResult: (text) => young(open<ChallengeResult>(text, 'headless answer')),
    consumeResult: (answer) => spend(answer, 'headless answer'),
  };
}
