/** Options of signing keys: algorithm, rotation, and how long a key is published before and after it signs. */
import * as z from 'zod';
import type { ServerContext } from '../context.ts';
import { type Lifetimes, lifetimesSchema } from '../core-options.ts';
import { masterKeySchema, previousMasterKeysSchema } from '../encryption/options.ts';
import { type InputOf, lazy, type OutputOf, option, seconds } from '../option-schema/fields.ts';
import {
  createOptionReport,
  type OptionReport,
  readDefaults,
  readOption,
  throwIssues,
} from '../option-schema/reader.ts';
import { signingAlgorithms } from './signing-algorithms.ts';

/** Validated key options. */
export interface KeyRules extends OutputOf<typeof keysSchema> {
  /** Seconds for which a key is published after it signed its last token. */
  readonly publishedAfter: number;
}

/** The option of signing keys, checked. */
export interface CheckedKeyOptions {
  readonly keys: KeyRules;
}

/** Seconds for which a verifier may cache the key set. */
export const KEYS_MAX_AGE = 300;
/** Seconds until every process that serves requests knows a new key. */
export const KEY_REFRESH_INTERVAL = 30;
/** Seconds by which clocks of processes and verifiers may differ. */
const CLOCKS_DIFFER = 90;
/** A verifier that caches the set, and a process that has not looked yet, must both know a key before it signs. */
const MINIMUM_PREPUBLISH = KEYS_MAX_AGE + KEY_REFRESH_INTERVAL;

export const keysSchema = lazy(() =>
  z.strictObject({
    algorithm: z.enum(signingAlgorithms).default('ES256').describe('algorithm of new keys'),
    rotateEvery: seconds(1, 100 * 365 * 86_400, ', or null')
      .nullable()
      .default(90 * 86_400)
      .describe('interval of key rotation; `null`: only by command'),
    prepublish: seconds(MINIMUM_PREPUBLISH, 365 * 86_400)
      .default(3600)
      .describe('how long a new key is published before it signs; verifiers cache the key set'),
  }),
);

/** Algorithm and rotation of signing keys. */
type KeyOptions = InputOf<typeof keysSchema>;

export const keyOptions = {
  /** Algorithm and rotation of signing keys. */
  keys: option(keysSchema, {
    default: readDefaults(keysSchema()),
    section: 'Tokens',
    description: 'signing keys',
    defaultText: 'as below',
  }),
};

export function validateKeyOptions(
  { rotateEvery, ...options }: OutputOf<typeof keysSchema>,
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
export interface KeySettings {
  readonly masterKey: Uint8Array;
  readonly previousMasterKeys?: readonly Uint8Array[] | undefined;
  readonly keys?: KeyOptions | undefined;
  readonly lifetimes?: InputOf<typeof lifetimesSchema> | undefined;
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
    options.previousMasterKeys ?? [],
    previous,
    report,
  );
  const lifetimes = readOption(lifetimesSchema(), options.lifetimes ?? {}, ['lifetimes'], report);
  const keys = readOption(keysSchema(), options.keys ?? {}, ['keys'], report);
  const rules = validateKeyOptions(keys, lifetimes, report);
  throwIssues(report);
  return { rules, previousMasterKeys };
}

export type KeyContext = ServerContext<CheckedKeyOptions>;
