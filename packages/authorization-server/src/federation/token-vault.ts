/** The vault: what belongs to third parties rests in envelopes under data keys, and those under the sealing key. */

import { randomBytes } from 'node:crypto';
import { ConfigurationError, temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { dataKeyContext } from '../encryption/contexts.ts';
import { createEncryptor, DecryptionError, type Encryptor } from '../encryption/encryptor.ts';
import { createSingleFlight } from '../single-flight.ts';
import type { DataKeyRecord } from '../store/index.ts';

interface Sealed {
  readonly envelope: Uint8Array;
  readonly dataKeyId: string;
}

export interface TokenVault {
  /** Loads the data keys. @throws ConfigurationError when the sealing key does not open them */
  load(): Promise<void>;
  /** @param place what the envelope belongs to, and where alone it opens */
  encrypt(content: object, place: string): Promise<Sealed>;
  /** What was sealed. Its type is the sealer's claim. */
  decrypt<T>(envelope: Uint8Array, place: string): Promise<T>;
  /** Makes the next data key when it is time, and removes those under which nothing is sealed any more. */
  rotateDataKeys(): Promise<void>;
}

/** Seconds for which a data key seals. Replacing it costs nothing: what it sealed is renewed under the next one by and by. */
const SEALS_FOR = 30 * 86_400;
/** Every process has heard of a key of that age. Seconds. */
const HEARD_AFTER = 86_400;
/** Seconds after which a process looks for keys of others. */
const LOOKS_EVERY = 3600;

interface Keys {
  /** Newest first; at least one. */
  readonly records: readonly DataKeyRecord[];
  readonly newestId: string;
  readonly sealer: Encryptor;
  readonly lookedAt: number;
}

export function createTokenVault(context: ServerContext): TokenVault {
  const {
    store,
    clock,
    events,
    options: { masterKey, previousMasterKeys },
  } = context;
  const master = createEncryptor(masterKey, previousMasterKeys);
  const singleFlight = createSingleFlight<Keys>();
  let keys: Keys | null = null;

  const load = (): Promise<Keys> =>
    singleFlight.run('load', async () => {
      const found = await store.listDataKeys();
      try {
        keys = openAll(found.length > 0 ? found : await add(null));
      } catch (error) {
        // Sealed anew under a key that this process has not got: what is known goes on.
        if (!(error instanceof DecryptionError) || keys === null) throw error;
        events({ type: 'key_ring.refresh_failed', reason: `data keys: ${error.message}` });
        keys = { ...keys, lookedAt: clock() };
      }
      return keys;
    });

  /** A process that does not seal under the newest sealing key makes no keys: it is about to be replaced. */
  async function add(after: string | null): Promise<readonly DataKeyRecord[]> {
    const id = `data-key_${randomBytes(16).toString('base64url')}`;
    const made = {
      id,
      encryptedKey: master.encrypt(randomBytes(32), dataKeyContext(id)),
      createdAt: clock(),
    };
    const records = await store.addDataKey(made, after);
    if (records[0]?.id === id) events({ type: 'data_key.created', keyId: id });
    return records;
  }

  function openAll(records: readonly DataKeyRecord[]): Keys {
    const opened = records.map(({ id, encryptedKey }) => master.decrypt(encryptedKey, dataKeyContext(id)));
    const [newest, ...older] = opened;
    if (newest === undefined) throw new Error('the store keeps no data key');
    return {
      records,
      newestId: records[0]?.id ?? '',
      sealer: createEncryptor(newest, older),
      lookedAt: clock(),
    };
  }

  const current = async (): Promise<Keys> =>
    keys === null || clock() - keys.lookedAt >= LOOKS_EVERY ? load() : keys;

  return {
    async load() {
      try {
        await load();
      } catch (error) {
        if (error instanceof DecryptionError) {
          throw new ConfigurationError([
            'masterKey is not the key under which the data keys in this store were sealed: give that one back, or add it to previousMasterKeys',
          ]);
        }
        throw error;
      }
    },
    async encrypt(content, place) {
      const { sealer, newestId } = await current().catch(explain);
      return { envelope: sealer.encrypt(Buffer.from(JSON.stringify(content)), place), dataKeyId: newestId };
    },
    async decrypt(envelope, place) {
      try {
        const { sealer } = await current();
        return JSON.parse(sealer.decrypt(envelope, place).toString());
      } catch (error) {
        if (!(error instanceof DecryptionError) || error.issue !== 'other-key') return explain(error);
      }
      // Another process has made a key since.
      return JSON.parse((await load().catch(explain)).sealer.decrypt(envelope, place).toString());
    },
    async rotateDataKeys() {
      const { records } = await load();
      const [newest] = records;
      const isOurs = newest !== undefined && master.isCurrentKey(newest.encryptedKey);
      if (isOurs && clock() - newest.createdAt >= SEALS_FOR) keys = openAll(await add(newest.id));
      const removed = await store.removeUnusedDataKeys(clock() - HEARD_AFTER);
      if (removed > 0) await load();
    },
  };
}

/** What does not open is a matter for the operator, and no word of it for the client. */
function explain(error: unknown): never {
  if (error instanceof DecryptionError)
    throw temporarilyUnavailable(`the vault does not open: ${error.message}`, 60, error);
  throw error;
}
