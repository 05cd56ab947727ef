/** What an operator says about signing keys, and how it is judged. */
import type { Lifetimes } from '../lifetimes.ts';
import { type SigningAlgorithm, signingAlgorithms } from './signing-algorithms.ts';

export interface KeyOptions {
  /** Of the keys that are made from now on; `ES256` when left out. Existing keys go on until they are rotated. */
  readonly algorithm?: SigningAlgorithm;
  /** Seconds after which a key is replaced by a new one; `null`: only by command. 90 days when left out. */
  readonly rotateEvery?: number | null;
  /** Seconds for which a new key is published before it signs; an hour when left out. */
  readonly prepublish?: number;
}

/** The options as judged. */
export interface KeyRules {
  readonly algorithm: SigningAlgorithm;
  readonly rotateEvery: number | null;
  readonly prepublish: number;
  /** Seconds for which a key is published after it signed its last token. */
  readonly publishedAfter: number;
}

/** Seconds for which a verifier may keep the set of keys. */
export const KEYS_MAX_AGE = 300;
/** Seconds after which every process that serves requests knows of a new key. */
export const KEY_REFRESH_INTERVAL = 30;
/** Seconds by which clocks of processes and verifiers may differ. */
const CLOCKS_DIFFER = 90;

/** A verifier that keeps the set, and a process that has not looked yet, must both know a key before it signs. */
const SHORTEST_PUBLICATION = KEYS_MAX_AGE + KEY_REFRESH_INTERVAL;

export function validateKeyOptions(
  { algorithm = 'ES256', rotateEvery = 90 * 86_400, prepublish = 3600 }: KeyOptions,
  { accessToken }: Lifetimes,
  issues: string[],
): KeyRules {
  if (!signingAlgorithms.includes(algorithm)) {
    issues.push(`keys.algorithm must be one of ${signingAlgorithms.join(', ')}`);
  }
  if (!Number.isSafeInteger(prepublish) || prepublish < SHORTEST_PUBLICATION) {
    issues.push(
      `keys.prepublish must be whole seconds, at least ${SHORTEST_PUBLICATION}: verifiers keep the old set for so long`,
    );
  }
  if (rotateEvery !== null && (!Number.isSafeInteger(rotateEvery) || rotateEvery < 2 * prepublish)) {
    issues.push('keys.rotateEvery must be whole seconds, at least twice keys.prepublish, or null');
  }
  return Object.freeze<KeyRules>({
    algorithm,
    rotateEvery,
    prepublish,
    publishedAfter: accessToken + CLOCKS_DIFFER,
  });
}
