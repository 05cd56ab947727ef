/** Judging what concerns keys: sealing keys, the rules of signing keys, and the lifetimes that these have to outlast. */
import { ConfigurationError } from '@portcullis/protocol';
import type { AuthorizationServerOptions, Configuration } from '../configuration.ts';
import { judgeLifetimes } from '../lifetimes.ts';
import { judgeKeys, type KeyRules } from './key-options.ts';

/** What concerns keys. */
type KeySettings = Pick<
  AuthorizationServerOptions,
  'sealingKey' | 'previousSealingKeys' | 'keys' | 'lifetimes'
>;

/**
 * Judges what concerns keys alone: for whoever has no more of a configuration.
 * @throws ConfigurationError with every fault
 */
export function defineKeySettings(options: KeySettings): {
  readonly rules: KeyRules;
  readonly previousSealingKeys: readonly Uint8Array[];
} {
  const issues: string[] = [];
  const { keys, previousSealingKeys } = judgeKeySettings(options, issues);
  if (issues.length > 0) throw new ConfigurationError(issues);
  return { rules: keys, previousSealingKeys };
}

export function judgeKeySettings(
  { sealingKey, previousSealingKeys = [], ...options }: KeySettings,
  issues: string[],
): Pick<Configuration, 'lifetimes' | 'keys' | 'previousSealingKeys'> {
  if (sealingKey.length !== 32) issues.push('sealingKey must be 32 bytes long');
  if (previousSealingKeys.some(({ length }) => length !== 32)) {
    issues.push('previousSealingKeys must each be 32 bytes long');
  }
  const lifetimes = judgeLifetimes(options.lifetimes ?? {}, issues);
  return { lifetimes, keys: judgeKeys(options.keys ?? {}, lifetimes, issues), previousSealingKeys };
}
