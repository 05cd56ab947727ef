/** The key ring: the current signing key and the published keys, shared by all processes of a store, with automatic rotation. */
import { ConfigurationError, OAuthError } from '@portcullis/protocol';
import { DecryptionError } from '../encryption/encryptor.ts';
import type { SigningKeyRecord } from '../store/index.ts';
import type { KeyContext } from './options.ts';
import { KEY_REFRESH_INTERVAL, type KeyRules } from './options.ts';
import { type RotationSchedule, rotationSchedule } from './rotation-schedule.ts';
import { decryptSigningKey, generateSigningKey, type SigningKey } from './signing-key.ts';

export interface KeyRing {
  /** The keys to use now. */
  now(): RotationSchedule<SigningKey>;
  /** Whether a key with this id is published now. */
  publishes(keyId: string): boolean;
  /**
   * Reads the store if the last read is half a minute old: loads keys of other processes, creates the next key when it is due, and
   * removes retired ones. Never rejects: without the store the known keys stay in use. `null`: no read is needed, as for nearly all
   * requests.
   */
  refresh(): Promise<void> | null;
}

/**
 * Loads the keys; creates the first one if there is none.
 * @throws ConfigurationError if they are encrypted under another master key
 */
export async function loadKeyRing(context: KeyContext): Promise<KeyRing> {
  const { store, clock, events, encryptor } = context;
  const { keys: rules } = context.options;
  /** By identifier: a key is decrypted once. */
  const decrypted = new Map<string, SigningKey>();
  let schedule = await load();
  let refreshedAt = clock();
  let pending: Promise<void> | null = null;

  async function load(): Promise<RotationSchedule<SigningKey>> {
    let records = await store.listSigningKeys();
    if (records.length === 0) records = await addKey(context, [], 'key.created');
    else if (records[0]?.algorithm !== rules.algorithm)
      records = await addKey(context, records, 'key.rotated');
    try {
      for (const record of records) decrypted.set(record.id, decryptSigningKey(record, encryptor));
    } catch (error) {
      if (error instanceof DecryptionError) throw new ConfigurationError([describeDecryptionError(error)]);
      throw error;
    }
    return scheduleNow();
  }

  function scheduleNow(): RotationSchedule<SigningKey> {
    return rotationSchedule([...decrypted.values()], clock(), rules.publishedAfter);
  }

  async function readStore(): Promise<void> {
    try {
      let records = await store.listSigningKeys();
      const isCurrent = records.every((record) => encryptor.isCurrentKey(record.encryptedPrivateKey));
      // A process that does not encrypt under the newest master key creates no keys.
      if (isCurrent && isDue(records, rules, clock()))
        records = await addKey(context, records, 'key.rotated');
      adopt(records);
      schedule = scheduleNow();
      await removeRetired();
    } catch (error) {
      const reason = error instanceof OAuthError ? error.reason : undefined;
      events({ type: 'key_ring.refresh_failed', reason: reason ?? String(error) });
    }
  }

  function adopt(records: readonly SigningKeyRecord[]): void {
    const usable = records.filter((record) => decrypted.has(record.id) || tryToDecrypt(record));
    // If no key can be decrypted, the known keys stay in use.
    if (usable.length === 0) return;
    for (const id of decrypted.keys()) if (usable.every((record) => record.id !== id)) decrypted.delete(id);
  }

  function tryToDecrypt(record: SigningKeyRecord): boolean {
    try {
      decrypted.set(record.id, decryptSigningKey(record, encryptor));
      return true;
    } catch (error) {
      events({ type: 'key_ring.refresh_failed', reason: `${record.id}: ${String(error)}` });
      return false;
    }
  }

  async function removeRetired(): Promise<void> {
    const ids = schedule.retired.map(({ id }) => id);
    if (ids.length === 0) return;
    await store.removeSigningKeys(ids);
    for (const keyId of ids) {
      decrypted.delete(keyId);
      events({ type: 'key.removed', keyId });
    }
    schedule = scheduleNow();
  }

  function now(): RotationSchedule<SigningKey> {
    if (clock() >= schedule.changesAt) schedule = scheduleNow();
    return schedule;
  }

  return {
    now,
    publishes: (keyId) => now().published.some(({ id }) => id === keyId),
    refresh() {
      if (Math.abs(clock() - refreshedAt) < KEY_REFRESH_INTERVAL) return null;
      pending ??= readStore().finally(() => {
        pending = null;
        refreshedAt = clock();
      });
      return pending;
    },
  };
}

/** Creates a key after the newest one; the first one signs at once. Another process may have been faster. */
async function addKey(
  { store, clock, events, encryptor, options: { keys } }: KeyContext,
  known: readonly SigningKeyRecord[],
  type: 'key.created' | 'key.rotated',
): Promise<readonly SigningKeyRecord[]> {
  const now = clock();
  const signsFrom = known.length === 0 ? now : now + keys.prepublish;
  const created = await generateSigningKey(keys.algorithm, encryptor, known, now, signsFrom);
  const records = await store.addSigningKey(created, known[0]?.id ?? null);
  if (records[0]?.id === created.id) events({ type, keyId: created.id });
  return records;
}

/**
 * Whether the last key has signed for so long that the next one must be published. A key that starts to sign more than a rotation from
 * now was created by a clock that was far ahead, and delays no other; a process whose clock is hours slow replaces no key that signs.
 */
function isDue(known: readonly SigningKeyRecord[], { rotateEvery, prepublish }: KeyRules, now: number) {
  if (known.length === 0 || rotateEvery === null) return false;
  const starts = known.map(({ signsFrom }) => signsFrom).filter((start) => start <= now + rotateEvery);
  return now >= Math.max(Number.NEGATIVE_INFINITY, ...starts) + rotateEvery - prepublish;
}

function describeDecryptionError({ issue }: DecryptionError): string {
  return issue === 'other-key'
    ? 'masterKey does not decrypt the signing keys in this store: start with the master key that encrypted them, which after `portcullis keys reencrypt` is the new one; if it is lost, `portcullis keys discard` discards them'
    : 'the encrypted signing keys in this store are damaged: restore the store from a backup';
}
