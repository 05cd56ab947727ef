/** Judging what concerns keys: sealing keys, the rules of signing keys, and the lifetimes that these have to outlast. */
import { ConfigurationError } from '@portcullis/protocol';
import { judgeLifetimes } from '../lifetimes.ts';
import type { AuthorizationServerOptions, ServerOptions } from '../options.ts';
import { type KeyRules, validateKeyOptions } from './key-options.ts';

/** What concerns keys. */
type KeySettings = Pick<
  AuthorizationServerOptions,
  'masterKey' | 'previousMasterKeys' | 'keys' | 'lifetimes'
>;

/**
 * Judges what concerns keys alone: for whoever has no more of a configuration.
 * @throws ConfigurationError with every fault
 */
export function defineKeySettings(options: KeySettings): {
  readonly rules: KeyRules;
  readonly previousMasterKeys: readonly Uint8Array[];
} {
  const issues: string[] = [];
  const { keys, previousMasterKeys } = validateKeySettings(options, issues);
  if (issues.length > 0) throw new ConfigurationError(issues);
  return { rules: keys, previousMasterKeys };
}

export function validateKeySettings(
  { masterKey, previousMasterKeys = [], ...options }: KeySettings,
  issues: string[],
): Pick<ServerOptions, 'lifetimes' | 'keys' | 'previousMasterKeys'> {
  if (masterKey.length !== 32) issues.push('masterKey must be 32 bytes long');
  if (previousMasterKeys.some(({ length }) => length !== 32)) {
    issues.push('previousMasterKeys must each be 32 bytes long');
  }
  const lifetimes = judgeLifetimes(options.lifetimes ?? {}, issues);
  return { lifetimes, keys: validateKeyOptions(options.keys ?? {}, lifetimes, issues), previousMasterKeys };
}
