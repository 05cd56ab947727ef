/** The token vault: encrypts secrets of identity providers under data keys (DEK), and those under the master key (KEK). */
import { randomBytes } from 'node:crypto';
import { ConfigurationError, temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createEncryptor, DecryptionError, dataKeyContext, type Encryptor } from '../encryption/encryptor.ts';
import { createSingleFlight } from '../single-flight.ts';
import type { DataKeyRecord } from '../store/index.ts';
import { isAhead } from '../wrong-clock.ts';

interface Encrypted {
  readonly ciphertext: Uint8Array;
  readonly dataKeyId: string;
}

export type TokenVault = ReturnType<typeof createTokenVault>;

/** Seconds for which a data key encrypts. Rotation costs nothing: what it encrypted is refreshed under the next one over time. */
const ENCRYPTS_FOR = 30 * 86_400;
/** Every process has learned of a key of that age. Seconds. */
const KNOWN_AFTER = 86_400;
/** Seconds between polls for keys of other processes. */
const RELOAD_EVERY = 3600;

interface DataKeys {
  /** Newest first; at least one. */
  readonly records: readonly DataKeyRecord[];
  readonly newestId: string;
  readonly encryptor: Encryptor;
  readonly loadedAt: number;
}

export function createTokenVault(context: ServerContext) {
  const dataKeys = createDataKeys(context);
  return {
    /** Loads the data keys. @throws ConfigurationError if the master key does not decrypt them */
    async load(): Promise<void> {
      try {
        await dataKeys.load();
      } catch (error) {
        if (error instanceof DecryptionError) {
          throw new ConfigurationError([
            'masterKey does not decrypt the data keys in this store: restore the previous master key, or add it to previousMasterKeys',
          ]);
        }
        throw error;
      }
    },
    /** @param context what the content belongs to: it can only be decrypted with the same context */
    async encrypt(content: object, context: string): Promise<Encrypted> {
      const { encryptor, newestId } = await dataKeys.current().catch(rethrow);
      const ciphertext = encryptor.encrypt(Buffer.from(JSON.stringify(content)), context);
      return { ciphertext, dataKeyId: newestId };
    },
    /**
     * Decrypts what was encrypted. Its type is the caller's claim.
     * @throws OAuthError `temporarily_unavailable` if it cannot be decrypted: the operator has to act, and the client learns nothing
     */
    async decrypt<T>(ciphertext: Uint8Array, context: string): Promise<T> {
      const decryptWith = ({ encryptor }: DataKeys) =>
        JSON.parse(encryptor.decrypt(ciphertext, context).toString());
      try {
        return decryptWith(await dataKeys.current());
      } catch (error) {
        if (!(error instanceof DecryptionError) || error.issue !== 'other-key') return rethrow(error);
      }
      // Another process may have created a key in the meantime.
      return dataKeys.load().then(decryptWith).catch(rethrow);
    },
    /** Creates the next data key when it is due, and removes those that are no longer used. */
    rotateDataKeys: dataKeys.rotate,
  };
}

/** The data keys of the store, decrypted under the master key and cached. */
function createDataKeys(context: ServerContext) {
  const { store, clock, events, encryptor: master } = context;
  const singleFlight = createSingleFlight<DataKeys>();
  let keys: DataKeys | null = null;

  const load = (): Promise<DataKeys> =>
    singleFlight.run('load', async () => {
      const found = await store.listDataKeys();
      try {
        keys = decryptAll(found.length > 0 ? found : await add(null));
      } catch (error) {
        // Re-encrypted under a master key that this process does not have: it continues with its current keys.
        if (!(error instanceof DecryptionError) || keys === null) throw error;
        events({ type: 'key_ring.refresh_failed', reason: `data keys: ${error.message}` });
        keys = { ...keys, loadedAt: clock() };
      }
      return keys;
    });

  async function add(after: string | null): Promise<readonly DataKeyRecord[]> {
    const id = `data-key_${randomBytes(16).toString('base64url')}`;
    const encryptedKey = master.encrypt(randomBytes(32), dataKeyContext(id));
    const records = await store.addDataKey({ id, encryptedKey, createdAt: clock() }, after);
    if (records[0]?.id === id) events({ type: 'data_key.created', keyId: id });
    return records;
  }

  function decryptAll(records: readonly DataKeyRecord[]): DataKeys {
    const decrypted = records.map(({ id, encryptedKey }) => master.decrypt(encryptedKey, dataKeyContext(id)));
    const [newest, ...older] = decrypted;
    if (newest === undefined) throw new Error('the store has no data key');
    return {
      records,
      newestId: records[0]?.id ?? '',
      encryptor: createEncryptor(newest, older),
      loadedAt: clock(),
    };
  }

  return {
    load,
    async current(): Promise<DataKeys> {
      const now = clock();
      return keys === null || now - keys.loadedAt >= RELOAD_EVERY || isAhead(keys.loadedAt, now)
        ? load()
        : keys;
    },
    async rotate(): Promise<void> {
      const { records } = await load();
      const [newest] = records;
      // A process that does not encrypt under the newest master key creates no keys: it is about to be replaced.
      const isCurrent = newest !== undefined && master.isCurrentKey(newest.encryptedKey);
      if (isCurrent && clock() - newest.createdAt >= ENCRYPTS_FOR) keys = decryptAll(await add(newest.id));
      const removed = await store.removeUnusedDataKeys(clock() - KNOWN_AFTER);
      if (removed > 0) await load();
    },
  };
}

function rethrow(error: unknown): never {
  if (error instanceof DecryptionError) {
    throw temporarilyUnavailable(`the token vault cannot be decrypted: ${error.message}`, 60, error);
  }
  throw error;
}
