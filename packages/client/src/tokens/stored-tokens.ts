/** The tokens of one session: cached in this process, read from a store that other processes share, and written back to it. */
import { fingerprintCredential, isOwn, mayUseTokens } from '../registration/credential-owner.ts';
import type { ClientSettings } from '../settings.ts';
import { type CredentialStore, keyText, withLockedRecord } from '../storage/credential-store.ts';
import type { CredentialKey, CredentialRecord, Tokens } from '../storage/credentials.ts';

/** Tokens with the key they are stored under. */
export interface KeyedTokens {
  readonly key: CredentialKey;
  readonly tokens: Tokens;
}

/** Refreshed tokens that could not be saved: their refresh token is nowhere else. */
interface UnsavedTokens extends KeyedTokens {
  readonly replaced: Tokens;
}

export type StoredTokens = ReturnType<typeof createStoredTokens>;

/** Creates the tokens of a client; nothing is read yet. */
export function createStoredTokens(settings: ClientSettings) {
  const { store, server, account, clock, emit } = settings;
  let latest: KeyedTokens | null = null;
  /** The version of the store at the latest reading. */
  let seen: number | undefined;
  let ended = false;
  const { hasUnsaved, saveAgain, saveRefreshed, withRecord } = createTokenWriter(store);

  return {
    /** As last read or saved, without waiting; `null`: there were none, or `load` has to be called. */
    cached: (): KeyedTokens | null =>
      latest === null || hasUnsaved() || store.version?.() !== seen ? null : latest,
    load,
    /** The newest record that this client may use. */
    record: newestRecord,
    withRecord,
    save,
    saveRefreshed,
    /** Caches tokens that a refresh has already saved. */
    cache(refreshed: KeyedTokens): void {
      latest = refreshed;
    },
    /** Marks the session as ended. */
    end(): void {
      latest = null;
      ended = true;
    },
    /** Whether the session has ended and no other has begun since. */
    hasEnded: (): boolean => ended,
    remove,
  };

  /** Reads the store. */
  async function load(): Promise<KeyedTokens | null> {
    seen = store.version?.();
    const record = await newestRecord();
    latest = record === null || record.tokens === null ? null : { key: record.key, tokens: record.tokens };
    return latest;
  }

  async function newestRecord(): Promise<CredentialRecord | null> {
    for (const record of await ownRecords()) if (await mayUseTokens(record, settings)) return record;
    return null;
  }

  /** All own records with tokens, the newest first. */
  async function ownRecords(): Promise<readonly CredentialRecord[]> {
    await saveAgain();
    const age = (record: CredentialRecord): number => record.tokens?.obtainedAt ?? 0;
    return (await store.list(server, account))
      .filter(({ key, tokens }) => tokens !== null && isOwn(key, settings))
      .toSorted((left, right) => age(right) - age(left));
  }

  /** Saves new tokens. Returns the record they replace; `null`: none. */
  async function save(key: CredentialKey, obtained: Tokens): Promise<CredentialRecord | null> {
    const { registration: own, ...issued } = obtained;
    const replaced = await withRecord(key, async (record) => {
      // Another sign-in may have replaced the registration since this one began.
      const isCurrent = record?.registration?.clientId === issued.clientId;
      const tokens = isCurrent || own === undefined ? issued : { ...issued, registration: own };
      const credentialFingerprint = await fingerprintCredential(tokens, settings, key.issuer);
      const { registration, replacedClients } = record ?? { registration: null };
      await store.save({
        ...{ key, registration, tokens, since: clock() },
        ...(replacedClients !== undefined && { replacedClients }),
        ...(credentialFingerprint !== undefined && { credentialFingerprint }),
      });
      latest = { key, tokens };
      ended = false;
      return record;
    });
    await removeOtherIssuers(key);
    const { scopes, scheme } = issued;
    emit({ type: 'tokens.obtained', issuer: key.issuer, scopes, scheme });
    return replaced?.tokens == null ? null : replaced;
  }

  /** Removes the tokens from the store, after a refresh in progress. Returns their record. */
  async function remove(): Promise<CredentialRecord | null> {
    const [newest = null] = await ownRecords();
    const removed =
      newest === null
        ? null
        : await withRecord(newest.key, async (record) => {
            if (record === null || record.tokens === null) return null;
            await store.save({ ...record, tokens: null });
            return record;
          });
    latest = null;
    return removed;
  }

  /**
   * The server has changed its authorization server: tokens of the previous one are useless. A refresh of theirs in
   * progress ends before they are removed; their registration remains. Only one lock is acquired at a time.
   */
  async function removeOtherIssuers({ issuer }: CredentialKey): Promise<void> {
    const others = (await ownRecords()).filter(({ key }) => key.issuer !== issuer);
    for (const { key } of others) await withRecord(key, removeTokens);
  }

  async function removeTokens(record: CredentialRecord | null): Promise<void> {
    if (record === null || record.tokens === null) return;
    await store.save({ ...record, tokens: null });
    const reason = 'the server has another authorization server now';
    emit({ type: 'session.ended', issuer: record.key.issuer, reason });
  }
}

/** Changes records under their locks. */
function createTokenWriter(store: CredentialStore) {
  let unsaved: UnsavedTokens | null = null;

  return {
    hasUnsaved: (): boolean => unsaved !== null,
    /** Saves tokens that could not be saved before. */
    async saveAgain(): Promise<void> {
      if (unsaved !== null) await withRecord(unsaved.key, async () => {});
    },
    saveRefreshed,
    withRecord,
  };

  /**
   * Saves tokens in place of those they were refreshed from, under the lock of the record; if that fails, again at the next use.
   * @returns `false`: the record has others, or none
   */
  async function saveRefreshed(record: CredentialRecord, replaced: Tokens, tokens: Tokens): Promise<boolean> {
    try {
      return await store.save({ ...record, tokens }, replaced);
    } catch (error) {
      unsaved = { key: record.key, tokens, replaced };
      throw error;
    }
  }

  /** Reads the record of a key and holds its lock until the change is done. Tokens that could not be saved are saved before. */
  function withRecord<T>(
    key: CredentialKey,
    change: (record: CredentialRecord | null) => Promise<T>,
  ): Promise<T> {
    return withLockedRecord(store, key, async (record) => change(await saveUnsaved(key, record)));
  }

  /** Returns the newest record: another process may have replaced or removed the tokens meanwhile. */
  async function saveUnsaved(
    key: CredentialKey,
    record: CredentialRecord | null,
  ): Promise<CredentialRecord | null> {
    if (unsaved === null || keyText(unsaved.key) !== keyText(key)) return record;
    const { tokens, replaced } = unsaved;
    const saved = record === null ? null : { ...record, tokens };
    const isSaved = saved !== null && (await store.save(saved, replaced));
    unsaved = null;
    return isSaved ? saved : record;
  }
}
