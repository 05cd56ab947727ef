/** What this process knows of the session with one server: read from a store that others may write as well, and kept there. */

import { credentialFingerprint, isOwn, mayUseTokens } from '../registration/credential-owner.ts';
import type { ClientSettings } from '../settings.ts';
import { changeRecord } from '../storage/change-record.ts';
import type { CredentialKey, CredentialRecord } from '../storage/credential-store.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';

/** Tokens, and where they are kept. */
export interface KeptTokens {
  readonly key: CredentialKey;
  readonly tokens: Tokens;
}

export interface KnownTokens {
  /** As last read or kept, without waiting; `null`: there were none, or nothing was read yet. */
  latest(): KeptTokens | null;
  /** Reads the store. */
  load(): Promise<KeptTokens | null>;
  /** The newest record that this client may use, with its issuer. */
  record(): Promise<CredentialRecord | null>;
  /** Keeps tokens that were got anew. Tells what they replace; `null`: nothing. */
  keep(key: CredentialKey, tokens: Tokens): Promise<CredentialRecord | null>;
  /** Goes on with tokens that a refresh has kept already. */
  adopt(renewed: KeptTokens): void;
  /** The session is over. */
  end(): void;
  /** Whether the session that stood is over, and no other has begun since. */
  hasEnded(): boolean;
  /** Removes the tokens from the store, once a refresh that is under way has brought the last of them. Tells what they were. */
  remove(): Promise<CredentialRecord | null>;
}

/** Makes the room; it knows nothing yet. */
export function createKnownTokens(configuration: ClientSettings): KnownTokens {
  const { store, server, account, clock, emit: tell } = configuration;
  let known: KeptTokens | null = null;
  let ended = false;

  return {
    latest: () => known,
    load,
    record: newestRecord,
    keep,
    adopt(renewed) {
      known = renewed;
    },
    end() {
      known = null;
      ended = true;
    },
    hasEnded: () => ended,
    remove,
  };

  async function load(): Promise<KeptTokens | null> {
    const record = await newestRecord();
    known = record === null || record.tokens === null ? null : { key: record.key, tokens: record.tokens };
    return known;
  }

  async function newestRecord(): Promise<CredentialRecord | null> {
    for (const record of await ownRecords()) if (await mayUseTokens(record, configuration)) return record;
    return null;
  }

  /** All that have tokens, the newest first. */
  async function ownRecords(): Promise<readonly CredentialRecord[]> {
    const age = (record: CredentialRecord): number => record.tokens?.obtainedAt ?? 0;
    return (await store.list(server, account))
      .filter(({ key, tokens }) => tokens !== null && isOwn(key, configuration))
      .toSorted((left, right) => age(right) - age(left));
  }

  async function keep(key: CredentialKey, tokens: Tokens): Promise<CredentialRecord | null> {
    const replaced = await changeRecord(store, key, async (record) => {
      const bond = await credentialFingerprint(tokens, configuration, key.issuer);
      const registration = record?.registration ?? null;
      await store.save({
        key,
        registration,
        tokens,
        since: clock(),
        ...(bond !== undefined && { credentialFingerprint: bond }),
      });
      known = { key, tokens };
      ended = false;
      return record;
    });
    await forgetOtherIssuers(key);
    tell({ type: 'tokens.obtained', issuer: key.issuer, scopes: tokens.scopes, scheme: tokens.scheme });
    return replaced?.tokens == null ? null : replaced;
  }

  async function remove(): Promise<CredentialRecord | null> {
    const [newest = null] = await ownRecords();
    const removed =
      newest === null
        ? null
        : await changeRecord(store, newest.key, async (record) => {
            if (record === null || record.tokens === null) return null;
            await store.save({ ...record, tokens: null });
            return record;
          });
    known = null;
    return removed;
  }

  /**
   * The server has moved to another authorization server: tokens of the old one are of no more use. A refresh of theirs that is
   * under way has ended before they go, and what else is kept beside them stays. Nobody holds two locks.
   */
  async function forgetOtherIssuers({ issuer }: CredentialKey): Promise<void> {
    const others = (await ownRecords()).filter(({ key }) => key.issuer !== issuer);
    for (const { key } of others) await changeRecord(store, key, forgetTokens);
  }

  async function forgetTokens(record: CredentialRecord | null): Promise<void> {
    if (record === null || record.tokens === null) return;
    await store.save({ ...record, tokens: null });
    const reason = 'the server has another authorization server now';
    tell({ type: 'session.ended', issuer: record.key.issuer, reason });
  }
}
