/** Signing keys in the hands of an operator: listed, rotated, sealed anew. Running servers notice within half a minute. */

import { ConfigurationError } from '@portcullis/protocol';
import { createEncryptor, type Encryptor } from '../encryption/encryptor.ts';
import type { AuthorizationServerOptions } from '../options.ts';
import type { SigningKeyRecord } from '../store/index.ts';
import { canDecryptDataKey, canDecryptKey, undecryptableKeyError } from './decryptable.ts';
import { type KeyRules, validateKeySettings } from './key-options.ts';

import { reencryptStore } from './reencrypt.ts';
import { rotationSchedule } from './rotation-schedule.ts';
import { creationTimeAfter, generateSigningKey } from './signing-key.ts';

/** What is told of a key. Times in epoch seconds. */
export interface ListedKey {
  /** The `kid`. */
  readonly id: string;
  readonly algorithm: string;
  readonly createdAt: number;
  readonly signsFrom: number;
  /** `next`: published, and going to sign; `past`: published while tokens that it signed may live; `retired`: about to go. */
  readonly state: 'next' | 'signing' | 'past' | 'retired';
  /** Whether the sealing key given opens it. */
  readonly canDecrypt: boolean;
}

/**
 * How a key is replaced. `in-time`: the new key is published before it signs. `at-once`: it signs as soon as servers notice it,
 * and verifiers have to fetch it meanwhile. `compromised`: at once, and all others are gone with every access token that they
 * signed; refresh tokens live on.
 */
type Replacement = 'in-time' | 'at-once' | 'compromised';

/** Identifiers. */
interface LostKeys {
  readonly signing: readonly string[];
  readonly data: readonly string[];
}

export interface KeyAdministration {
  /** Newest first. */
  list(): Promise<readonly ListedKey[]>;
  /** Makes a key and answers all keys. @throws ConfigurationError when the sealing key does not open the newest */
  rotate(replacement: Replacement): Promise<readonly ListedKey[]>;
  /**
   * Seals everything that is sealed under another sealing key. Servers that run go on; when they start again they need that one.
   * @returns how many keys
   * @throws ConfigurationError when the sealing key does not open one of them; then nothing has changed
   */
  reencrypt(newSealingKey: Uint8Array): Promise<number>;
  /** The keys that the sealing key does not open: those that sign, and those that seal what third parties gave. */
  listLost(): Promise<LostKeys>;
  /**
   * Gives up those keys. Access tokens that they signed end, and so does what rests on tokens of third parties that they sealed.
   * @returns what is gone, and how many grants ended with it
   */
  discard(): Promise<LostKeys & { readonly endedGrants: number }>;
}

/** The signing keys of a store, and all that is sealed under its sealing key: it needs no running server. */
export function createKeyAdministration(
  options: Pick<
    AuthorizationServerOptions,
    'store' | 'masterKey' | 'previousMasterKeys' | 'keys' | 'lifetimes' | 'clock' | 'events'
  >,
): KeyAdministration {
  const { store, events = () => {}, clock = () => Math.floor(Date.now() / 1000) } = options;
  const { rules, previousMasterKeys } = validateKeySettings(options);
  const sealer = createEncryptor(options.masterKey, previousMasterKeys);

  const describe = (records: readonly SigningKeyRecord[]) => describeKeys(records, sealer, clock(), rules);

  const listLost = async (): Promise<LostKeys> => {
    const [records, dataKeys] = await Promise.all([store.listSigningKeys(), store.listDataKeys()]);
    return {
      signing: records.filter((record) => !canDecryptKey(record, sealer)).map(({ id }) => id),
      data: dataKeys.filter((record) => !canDecryptDataKey(record, sealer)).map(({ id }) => id),
    };
  };

  return {
    list: async () => describe(await store.listSigningKeys()),
    async rotate(replacement) {
      const records = await store.listSigningKeys();
      const [newest] = records;
      if (newest !== undefined && !canDecryptKey(newest, sealer)) throw undecryptableKeyError(newest);
      const now = creationTimeAfter(newest, clock());
      const signsFrom = now + (replacement === 'in-time' ? rules.prepublish : 0);
      const made = await generateSigningKey(rules.algorithm, sealer, now, signsFrom);
      const after = await store.addSigningKey(made, newest?.id ?? null);
      if (after[0]?.id !== made.id) {
        throw new ConfigurationError(['another process has just made a key: list the keys and try again']);
      }
      events({ type: newest === undefined ? 'key.created' : 'key.rotated', keyId: made.id });
      if (replacement !== 'compromised') return describe(after);
      const ids = after.slice(1).map(({ id }) => id);
      await store.removeSigningKeys(ids);
      for (const keyId of ids) events({ type: 'key.removed', keyId });
      return describe(await store.listSigningKeys());
    },
    listLost,
    async discard() {
      const lost = await listLost();
      await store.removeSigningKeys(lost.signing);
      const endedGrants = await store.discardDataKeys(lost.data, clock());
      for (const keyId of [...lost.signing, ...lost.data]) events({ type: 'key.removed', keyId });
      return { ...lost, endedGrants };
    },
    async reencrypt(newSealingKey) {
      if (newSealingKey.length !== 32) throw new ConfigurationError(['the new sealing key must be 32 bytes']);
      const count = await reencryptStore(store, sealer, createEncryptor(newSealingKey));
      events({ type: 'key.reencrypted', count });
      return count;
    },
  };
}

function describeKeys(
  records: readonly SigningKeyRecord[],
  sealer: Encryptor,
  now: number,
  { publishedAfter }: KeyRules,
): readonly ListedKey[] {
  if (records.length === 0) return [];
  const { signing, retired } = rotationSchedule(records, now, publishedAfter);
  const stateOf = (record: SigningKeyRecord): ListedKey['state'] => {
    if (record === signing) return 'signing';
    if (retired.includes(record)) return 'retired';
    return record.signsFrom > now ? 'next' : 'past';
  };
  return records.map((record) => {
    const { id, algorithm, createdAt, signsFrom } = record;
    return {
      id,
      algorithm,
      createdAt,
      signsFrom,
      state: stateOf(record),
      canDecrypt: canDecryptKey(record, sealer),
    };
  });
}
