/** Options of signing keys: algorithm, rotation, and how long a key is published before and after it signs. */
import type * as z from 'zod';
import { type Lifetimes, lifetimesSchema } from '../lifetimes.ts';
import {
  createOptionReport,
  custom,
  lazy,
  list,
  type OptionReport,
  object,
  oneOf,
  optional,
  readOption,
  seconds,
  throwIssues,
} from '../option-schema.ts';
import { type SigningAlgorithm, signingAlgorithms } from './signing-algorithms.ts';

/** Algorithm and rotation of signing keys. */
export interface KeyOptions {
  /** Algorithm of new keys; `ES256` by default. Existing keys stay until they are rotated. */
  readonly algorithm?: SigningAlgorithm;
  /** Seconds until a key is rotated, 90 days by default; `null`: only by command. */
  readonly rotateEvery?: number | null;
  /** Seconds for which a new key is published before it signs; an hour by default. */
  readonly prepublish?: number;
}

/** Validated key options. */
export interface KeyRules extends Required<KeyOptions> {
  /** Seconds for which a key is published after it signed its last token. */
  readonly publishedAfter: number;
}

/** Seconds for which a verifier may cache the key set. */
export const KEYS_MAX_AGE = 300;
/** Seconds until every process that serves requests knows a new key. */
export const KEY_REFRESH_INTERVAL = 30;
/** Seconds by which clocks of processes and verifiers may differ. */
const CLOCKS_DIFFER = 90;
/** A verifier that caches the set, and a process that has not looked yet, must both know a key before it signs. */
const MINIMUM_PREPUBLISH = KEYS_MAX_AGE + KEY_REFRESH_INTERVAL;

export const defaultKeys: Required<KeyOptions> = {
  algorithm: 'ES256',
  rotateEvery: 90 * 86_400,
  prepublish: 3600,
};

export const keysSchema: () => z.ZodType<Required<KeyOptions>> = lazy(() =>
  object<Required<KeyOptions>>({
    algorithm: optional(oneOf(...signingAlgorithms), 'algorithm of new keys', {
      default: defaultKeys.algorithm,
    }),
    rotateEvery: optional(
      seconds(1, 100 * 365 * 86_400, ', or null').nullable(),
      'interval of key rotation; `null`: only by command',
      { default: defaultKeys.rotateEvery },
    ),
    prepublish: optional(
      seconds(MINIMUM_PREPUBLISH, 365 * 86_400),
      'how long a new key is published before it signs; verifiers cache the key set',
      { default: defaultKeys.prepublish },
    ),
  }),
);

export const masterKeySchema: () => z.ZodType<Uint8Array> = lazy(() =>
  custom<Uint8Array>('32 bytes long', (value) => value instanceof Uint8Array && value.length === 32),
);
export const previousMasterKeysSchema: () => z.ZodType<readonly Uint8Array[]> = lazy(() =>
  optional(list(masterKeySchema()), 'master keys that were replaced', { default: [] }),
);

export function validateKeyOptions(
  { rotateEvery, ...options }: Required<KeyOptions>,
  { accessToken }: Lifetimes,
  report: OptionReport,
): KeyRules {
  const isRead = !report.isUnread('keys', 'rotateEvery') && !report.isUnread('keys', 'prepublish');
  if (isRead && rotateEvery !== null && rotateEvery < 2 * options.prepublish) {
    report.add(['keys', 'rotateEvery'], 'must be at least twice keys.prepublish, or null');
  }
  return Object.freeze({ ...options, rotateEvery, publishedAfter: accessToken + CLOCKS_DIFFER });
}

/** Options that the administration of keys needs. */
interface KeySettings {
  readonly masterKey: Uint8Array;
  readonly previousMasterKeys?: readonly Uint8Array[];
  readonly keys?: KeyOptions;
  readonly lifetimes?: Partial<Lifetimes>;
}

/**
 * Validates the options of keys alone.
 * @throws ConfigurationError with every issue
 */
export function validateKeySettings(options: KeySettings): {
  readonly rules: KeyRules;
  readonly previousMasterKeys: readonly Uint8Array[];
} {
  const report = createOptionReport();
  readOption(masterKeySchema(), options.masterKey, ['masterKey'], report);
  const previous = ['previousMasterKeys'];
  const previousMasterKeys = readOption(
    previousMasterKeysSchema(),
    options.previousMasterKeys,
    previous,
    report,
  );
  const lifetimes = readOption(lifetimesSchema(), options.lifetimes ?? {}, ['lifetimes'], report);
  const keys = readOption(keysSchema(), options.keys ?? {}, ['keys'], report);
  const rules = validateKeyOptions(keys, lifetimes, report);
  throwIssues(report);
  return { rules, previousMasterKeys };
}
