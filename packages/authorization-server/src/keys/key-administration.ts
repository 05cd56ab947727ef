/** Key administration for operators: list, rotate and re-encrypt keys. Running servers notice changes within half a minute. */
import { ConfigurationError } from '@portcullis/protocol';
import type { EventSink } from '../audit/events.ts';
import { createEncryptor, dataKeyContext, type Encryptor } from '../encryption/encryptor.ts';
import { canDecrypt, reencryptStore, undecryptableKeyError } from '../encryption/reencrypt.ts';
import type { AuthorizationStore, DataKeyRecord, SigningKeyRecord } from '../store/index.ts';
import { type KeyRules, type KeySettings, validateKeySettings } from './options.ts';
import { rotationSchedule } from './rotation-schedule.ts';
import { decryptSigningKey, generateSigningKey } from './signing-key.ts';

/** A signing key as listed. Times in epoch seconds. */
export interface ListedKey {
  /** The `kid`. */
  readonly id: string;
  readonly algorithm: string;
  readonly createdAt: number;
  readonly signsFrom: number;
  /** `next`: published before it signs; `past`: published while tokens that it signed are valid; `retired`: about to be removed. */
  readonly state: 'next' | 'signing' | 'past' | 'retired';
  /** Whether the master key decrypts it. */
  readonly canDecrypt: boolean;
}

/**
 * How a key is rotated. `in-time`: the new key is published before it signs. `at-once`: it signs as soon as servers notice it, and
 * resource servers have to fetch it. `compromised`: at once, and all other keys are removed, which ends every access token that
 * they signed; refresh tokens stay valid.
 */
type Replacement = 'in-time' | 'at-once' | 'compromised';

/** Identifiers of keys that cannot be decrypted. */
interface LostKeys {
  readonly signing: readonly string[];
  readonly data: readonly string[];
}

/** Lists, rotates and re-encrypts signing keys and data keys; running servers load the changes from the store. */
export interface KeyAdministration {
  /** Newest first. */
  list(): Promise<readonly ListedKey[]>;
  /** Creates a key and returns all keys. @throws ConfigurationError if the master key does not decrypt the newest */
  rotate(replacement: Replacement): Promise<readonly ListedKey[]>;
  /**
   * Re-encrypts everything under another master key. Running servers go on; when they restart they need the new one.
   * @returns the number of keys
   * @throws ConfigurationError if the master key does not decrypt one of them; then nothing has changed
   */
  reencrypt(newMasterKey: Uint8Array): Promise<number>;
  /** The signing keys and data keys that the master key does not decrypt. */
  listLost(): Promise<LostKeys>;
  /**
   * Removes those keys. Access tokens that they signed end, and grants whose provider tokens they encrypted.
   * @returns the removed keys, and the number of grants that ended
   */
  discard(): Promise<LostKeys & { readonly endedGrants: number }>;
}

/** Works on the store alone, without a running server. */
export function createKeyAdministration(
  options: KeySettings & {
    readonly store: AuthorizationStore;
    readonly clock?: (() => number) | undefined;
    readonly events?: EventSink | undefined;
  },
): KeyAdministration {
  const { store, events = () => {}, clock = () => Math.floor(Date.now() / 1000) } = options;
  const { rules, previousMasterKeys } = validateKeySettings(options);
  const encryptor = createEncryptor(options.masterKey, previousMasterKeys);

  const describe = (records: readonly SigningKeyRecord[]) => describeKeys(records, encryptor, clock(), rules);

  const listLost = async (): Promise<LostKeys> => {
    const [records, dataKeys] = await Promise.all([store.listSigningKeys(), store.listDataKeys()]);
    return {
      signing: records.filter((record) => !canDecryptKey(record, encryptor)).map(({ id }) => id),
      data: dataKeys.filter((record) => !canDecryptDataKey(record, encryptor)).map(({ id }) => id),
    };
  };

  return {
    list: async () => describe(await store.listSigningKeys()),
    async rotate(replacement) {
      const records = await store.listSigningKeys();
      const [newest] = records;
      if (newest !== undefined && !canDecryptKey(newest, encryptor)) throw undecryptableKeyError(newest);
      const now = clock();
      const signsFrom = now + (replacement === 'in-time' ? rules.prepublish : 0);
      const created = await generateSigningKey(rules.algorithm, encryptor, records, now, signsFrom);
      const after = await store.addSigningKey(created, newest?.id ?? null);
      if (after[0]?.id !== created.id) {
        throw new ConfigurationError(['another process has just created a key: list the keys and try again']);
      }
      events({ type: newest === undefined ? 'key.created' : 'key.rotated', keyId: created.id });
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
    async reencrypt(newMasterKey) {
      if (newMasterKey.length !== 32) throw new ConfigurationError(['the new master key must be 32 bytes']);
      const count = await reencryptStore(store, encryptor, createEncryptor(newMasterKey));
      events({ type: 'key.reencrypted', count });
      return count;
    },
  };
}

function describeKeys(
  records: readonly SigningKeyRecord[],
  encryptor: Encryptor,
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
      canDecrypt: canDecryptKey(record, encryptor),
    };
  });
}

function canDecryptKey(record: SigningKeyRecord, encryptor: Encryptor): boolean {
  return canDecrypt(() => decryptSigningKey(record, encryptor));
}

function canDecryptDataKey({ id, encryptedKey }: DataKeyRecord, encryptor: Encryptor): boolean {
  return canDecrypt(() => encryptor.decrypt(encryptedKey, dataKeyContext(id)));
}
