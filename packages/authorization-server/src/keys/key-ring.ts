/** The key ring: which key signs and which are published now, shared with every process that uses the same store. */

import { ConfigurationError } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createEncryptor, DecryptionError } from '../encryption/encryptor.ts';
import type { SigningKeyRecord } from '../store/index.ts';
import { KEY_REFRESH_INTERVAL, type KeyRules } from './key-options.ts';
import { type RotationSchedule, rotationSchedule } from './rotation-schedule.ts';
import { creationTimeAfter, decryptSigningKey, generateSigningKey, type SigningKey } from './signing-key.ts';

export interface KeyRing {
  /** The keys as they are to be used now. */
  now(): RotationSchedule<SigningKey>;
  /**
   * Looks into the store if that was not done for half a minute: learns of keys that others made, makes the next one when it
   * is time, and removes those that nobody needs. Never rejects: what is known goes on while the store is away. `null`: there is
   * no need to look, as for nearly all requests.
   */
  refresh(): Promise<void> | null;
}

/**
 * Loads the keys; makes the first one when there is none.
 * @throws ConfigurationError when they are sealed under another key.
 */
export async function loadKeyRing(context: ServerContext): Promise<KeyRing> {
  const {
    store,
    clock,
    events,
    options: { keys: rules },
  } = context;
  const sealer = createEncryptor(context.options.masterKey, context.options.previousMasterKeys);
  /** By identifier: a key is opened once. */
  const opened = new Map<string, SigningKey>();
  let schedule = await load();
  let lookedAt = clock();
  let underWay: Promise<void> | null = null;

  async function load(): Promise<RotationSchedule<SigningKey>> {
    let records = await store.listSigningKeys();
    if (records.length === 0) records = await add([], 0, 'key.created');
    else if (records[0]?.algorithm !== rules.algorithm)
      records = await add(records, rules.prepublish, 'key.rotated');
    try {
      for (const record of records) opened.set(record.id, decryptSigningKey(record, sealer));
    } catch (error) {
      if (error instanceof DecryptionError) throw new ConfigurationError([sealingIssue(error)]);
      throw error;
    }
    return scheduleNow();
  }

  /** Makes a key and adds it behind the newest. Another process may have been first. */
  async function add(
    known: readonly SigningKeyRecord[],
    prepublish: number,
    type: 'key.created' | 'key.rotated',
  ): Promise<readonly SigningKeyRecord[]> {
    const at = creationTimeAfter(known[0], clock());
    const made = await generateSigningKey(rules.algorithm, sealer, at, at + prepublish);
    const records = await store.addSigningKey(made, known[0]?.id ?? null);
    if (records[0]?.id === made.id) events({ type, keyId: made.id });
    return records;
  }

  function scheduleNow(): RotationSchedule<SigningKey> {
    return rotationSchedule([...opened.values()], clock(), rules.publishedAfter);
  }

  async function look(): Promise<void> {
    try {
      let records = await store.listSigningKeys();
      const mine = records.every((record) => sealer.isCurrentKey(record.encryptedPrivateKey));
      // Under a key that this process is not to seal with any more, it makes none.
      if (mine && isDue(records, rules, clock()))
        records = await add(records, rules.prepublish, 'key.rotated');
      takeOver(records);
      schedule = scheduleNow();
      await removeRetired();
    } catch (error) {
      events({ type: 'key_ring.refresh_failed', reason: String(error) });
    }
  }

  function takeOver(records: readonly SigningKeyRecord[]): void {
    const usable = records.filter((record) => opened.has(record.id) || tryToOpen(record));
    // Without a key that opens, what is known is better than nothing.
    if (usable.length === 0) return;
    for (const id of opened.keys()) if (usable.every((record) => record.id !== id)) opened.delete(id);
  }

  function tryToOpen(record: SigningKeyRecord): boolean {
    try {
      opened.set(record.id, decryptSigningKey(record, sealer));
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
      opened.delete(keyId);
      events({ type: 'key.removed', keyId });
    }
    schedule = scheduleNow();
  }

  return {
    now() {
      if (clock() >= schedule.changesAt) schedule = scheduleNow();
      return schedule;
    },
    refresh() {
      if (Math.abs(clock() - lookedAt) < KEY_REFRESH_INTERVAL) return null;
      underWay ??= look().finally(() => {
        underWay = null;
        lookedAt = clock();
      });
      return underWay;
    },
  };
}

/** Whether the newest key has signed for so long that the next one has to be published. */
function isDue([newest]: readonly SigningKeyRecord[], { rotateEvery, prepublish }: KeyRules, now: number) {
  return newest !== undefined && rotateEvery !== null && now >= newest.signsFrom + rotateEvery - prepublish;
}

function sealingIssue({ issue }: DecryptionError): string {
  return issue === 'other-key'
    ? 'masterKey is not the key under which the signing keys in this store were sealed: give that one back, or start with an empty store'
    : 'the sealed signing keys in this store are damaged: restore the store from a backup';
}
