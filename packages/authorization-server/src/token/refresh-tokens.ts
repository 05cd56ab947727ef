/** Refresh tokens: the first of a grant is random, each successor is derived from the token that it replaces. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Configuration } from '../configuration.ts';
import { deriveKey } from '../keys/sealing.ts';
import type { GrantRecord, RefreshTokenRecord } from '../ports/index.ts';
import { hashSecret } from '../secrets.ts';

export interface RefreshTokens {
  /**
   * The token that takes the place of a presented one: always the same, so that a retry or a parallel call gets it again although
   * nothing readable is stored. Who knows the old one cannot tell the new one without this server's key.
   */
  successorOf(token: string): string;
  /**
   * The successor that a token got when it was rotated, maybe by a process that derives from a previous sealing key. Asks the
   * store only when there is such a key.
   */
  findSuccessorOf(token: string): Promise<string>;
  /** What is stored of a token. It dies of idleness, and never outlives its grant. */
  record(token: string, grant: Pick<GrantRecord, 'id' | 'expiresAt'>, now: number): RefreshTokenRecord;
}

export function createRefreshTokens({
  sealingKey,
  previousSealingKeys,
  lifetimes,
  store,
}: Configuration): RefreshTokens {
  const key = keyFrom(sealingKey);
  const previous = previousSealingKeys.map(keyFrom);
  return {
    successorOf: (token) => derive(token, key),
    async findSuccessorOf(token) {
      const own = derive(token, key);
      if (previous.length === 0 || (await store.findRefreshToken(hashSecret(own))) !== null) return own;
      for (const successor of previous.map((old) => derive(token, old))) {
        if ((await store.findRefreshToken(hashSecret(successor))) !== null) return successor;
      }
      return own;
    },
    record: (token, grant, now) => ({
      hash: hashSecret(token),
      grantId: grant.id,
      issuedAt: now,
      expiresAt: Math.min(now + lifetimes.refreshIdle, grant.expiresAt),
    }),
  };
}

const PURPOSE = 'refresh token';

/** A key object: from bytes, node:crypto makes one at each call, which costs seven times the HMAC. */
function keyFrom(sealingKey: Uint8Array): KeyObject {
  return createSecretKey(deriveKey(sealingKey, PURPOSE));
}

function derive(token: string, key: KeyObject): string {
  return createHmac('sha256', key).update(token).digest('base64url');
}
