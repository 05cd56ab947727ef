/** Signing keys in the hands of an operator: listed, rotated, sealed anew. Running servers notice within half a minute. */

import { ConfigurationError } from '@portcullis/protocol';
import { secondFactorPlace } from '../accounts/second-factors.ts';
import type { AuthorizationServerOptions } from '../configuration.ts';
import { judgeKeySettings } from '../define-configuration.ts';
import type { DataKeyRecord, KeyRecord } from '../ports/index.ts';
import { dataKeyPlace } from '../upstream/vault.ts';
import { KEYS_NOTICED_WITHIN } from './key-options.ts';
import { scheduleOf } from './schedule.ts';
import { createSealer, type Sealer, SealingError } from './sealing.ts';
import { makeKey, openKey, resealKey, timeBehind } from './signing-keys.ts';

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
  readonly opens: boolean;
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
  reseal(newSealingKey: Uint8Array): Promise<number>;
  /** The keys that the sealing key does not open: those that sign, and those that seal what third parties gave. */
  listLost(): Promise<LostKeys>;
  /**
   * Gives up those keys. Access tokens that they signed end, and so does what rests on tokens of third parties that they sealed.
   * @returns what is gone, and how many grants ended with it
   */
  discard(): Promise<LostKeys & { readonly endedGrants: number }>;
}

/** How often resealing begins again because a server has made a key meanwhile. */
const TRIES = 5;

export function createKeyAdministration(
  options: Pick<
    AuthorizationServerOptions,
    'store' | 'sealingKey' | 'previousSealingKeys' | 'keys' | 'lifetimes' | 'clock' | 'events'
  >,
): KeyAdministration {
  const { store, events = () => {}, clock = () => Math.floor(Date.now() / 1000) } = options;
  const { rules, previousSealingKeys } = judgeKeySettings(options);
  const sealer = createSealer(options.sealingKey, previousSealingKeys);

  const describe = (records: readonly KeyRecord[]): readonly ListedKey[] => {
    if (records.length === 0) return [];
    const now = clock();
    const { signing, retired } = scheduleOf(records, now, rules.publishedAfter);
    return records.map((record) => ({
      id: record.id,
      algorithm: record.algorithm,
      createdAt: record.createdAt,
      signsFrom: record.signsFrom,
      state:
        record === signing
          ? 'signing'
          : retired.includes(record)
            ? 'retired'
            : record.signsFrom > now
              ? 'next'
              : 'past',
      opens: opens(record, sealer),
    }));
  };

  const listLost = async (): Promise<LostKeys> => {
    const [records, dataKeys] = await Promise.all([store.listKeys(), store.listDataKeys()]);
    return {
      signing: records.filter((record) => !opens(record, sealer)).map(({ id }) => id),
      data: dataKeys.filter((record) => !opensData(record, sealer)).map(({ id }) => id),
    };
  };

  return {
    list: async () => describe(await store.listKeys()),
    async rotate(replacement) {
      const records = await store.listKeys();
      const [newest] = records;
      if (newest !== undefined && !opens(newest, sealer)) throw cannotOpen(newest);
      const now = timeBehind(newest, clock());
      const signsFrom = now + (replacement === 'in-time' ? rules.publishedBefore : 0);
      const made = await makeKey(rules.algorithm, sealer, now, signsFrom);
      const after = await store.addKey(made, newest?.id ?? null);
      if (after[0]?.id !== made.id) {
        throw new ConfigurationError(['another process has just made a key: list the keys and try again']);
      }
      events({ type: newest === undefined ? 'key.created' : 'key.rotated', keyId: made.id });
      if (replacement !== 'compromised') return describe(after);
      const ids = after.slice(1).map(({ id }) => id);
      await store.removeKeys(ids);
      for (const keyId of ids) events({ type: 'key.removed', keyId });
      return describe(await store.listKeys());
    },
    listLost,
    async discard() {
      const lost = await listLost();
      await store.removeKeys(lost.signing);
      const endedGrants = await store.discardDataKeys(lost.data, clock());
      for (const keyId of [...lost.signing, ...lost.data]) events({ type: 'key.removed', keyId });
      return { ...lost, endedGrants };
    },
    async reseal(newSealingKey) {
      if (newSealingKey.length !== 32) throw new ConfigurationError(['the new sealing key must be 32 bytes']);
      const to = createSealer(newSealingKey);
      for (let tries = 1; tries <= TRIES; tries += 1) {
        const [records, dataKeys] = await Promise.all([store.listKeys(), store.listDataKeys()]);
        // All are opened before the first is changed.
        const sealed = new Map(records.map((record) => [record.id, sealAnew(record, sealer, to)]));
        const sealedData = new Map(
          dataKeys.map((record) => [record.id, sealDataKeyAnew(record, sealer, to)]),
        );
        if ((await store.resealKeys(sealed)) && (await store.resealDataKeys(sealedData))) {
          await resealSecondFactors(store, sealer, to);
          const count = sealed.size + sealedData.size;
          events({ type: 'keys.resealed', count });
          return count;
        }
      }
      throw new ConfigurationError([
        `keys are being made by others: try again in ${KEYS_NOTICED_WITHIN} seconds`,
      ]);
    },
  };
}

/** Second factors of a page. */
const PAGE = 100;

/** Whoever signs in with codes from an app goes on. A secret that nobody can open any more stays as it is. */
async function resealSecondFactors(
  store: AuthorizationServerOptions['store'],
  from: Sealer,
  to: Sealer,
): Promise<void> {
  let page = await store.listSecondFactors('', PAGE);
  while (page.length > 0) {
    for (const { accountId, sealedSecret } of page) {
      const envelope = Buffer.from(sealedSecret, 'base64url');
      const place = secondFactorPlace(accountId);
      if (to.isOwn(envelope) || !canOpen(() => from.unseal(envelope, place))) continue;
      const anew = Buffer.from(to.seal(from.unseal(envelope, place), place)).toString('base64url');
      await store.resealSecondFactor(accountId, sealedSecret, anew);
    }
    page = await store.listSecondFactors(page.at(-1)?.accountId ?? '', PAGE);
  }
}

/** What is sealed under the new key already is sealed under it once more: a second run changes nothing of worth. */
function sealAnew(record: KeyRecord, from: Sealer, to: Sealer): Uint8Array {
  try {
    return resealKey(record, to.isOwn(record.sealedPrivateKey) ? to : from, to);
  } catch (error) {
    if (error instanceof SealingError) throw cannotOpen(record);
    throw error;
  }
}

/** The data keys, under which everything of third parties rests: sealed anew, they open all of it as before. */
function sealDataKeyAnew({ id, sealedKey }: DataKeyRecord, from: Sealer, to: Sealer): Uint8Array {
  try {
    return to.seal((to.isOwn(sealedKey) ? to : from).unseal(sealedKey, dataKeyPlace(id)), dataKeyPlace(id));
  } catch (error) {
    if (error instanceof SealingError) throw cannotOpen({ id });
    throw error;
  }
}

function opens(record: KeyRecord, sealer: Sealer): boolean {
  return canOpen(() => openKey(record, sealer));
}

function opensData({ id, sealedKey }: DataKeyRecord, sealer: Sealer): boolean {
  return canOpen(() => sealer.unseal(sealedKey, dataKeyPlace(id)));
}

function canOpen(open: () => unknown): boolean {
  try {
    open();
    return true;
  } catch (error) {
    if (error instanceof SealingError) return false;
    throw error;
  }
}

function cannotOpen({ id }: Pick<KeyRecord, 'id'>): ConfigurationError {
  return new ConfigurationError([`sealingKey does not open ${id}: give the key under which it was sealed`]);
}
