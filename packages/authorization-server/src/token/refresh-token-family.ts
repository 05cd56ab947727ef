/** Refresh tokens: each names its family and its number in it, and is derived from both, so that one record knows them all. */

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { ServerContext } from '../context.ts';
import { deriveKey } from '../encryption/encryptor.ts';
import { equalInConstantTime, hashSecret, matchesSecret, newSecret } from '../secrets.ts';
import type { FoundGrant, GrantRecord, RefreshTokenRecord } from '../store/index.ts';
import { recordRotation } from './family.ts';

/** A token that was presented and is one of a family, by its number. Only `find` makes one. */
export interface FoundRefreshToken {
  readonly text: string;
  readonly number: number;
  readonly grant: FoundGrant['grant'];
  /** The record of its family. */
  readonly family: RefreshTokenRecord;
}

/** A token for its client, and what is stored of it. */
interface IssuedRefreshToken {
  readonly text: string;
  readonly record: RefreshTokenRecord;
}

export interface RefreshTokens {
  /** The first token of a grant. It dies of idleness, and never outlives its grant. */
  first(grant: Pick<GrantRecord, 'id' | 'expiresAt'>, now: number): IssuedRefreshToken;
  /** Finds the family of a token; `null` for any text that this server has not made. */
  find(text: string): Promise<FoundRefreshToken | null>;
  /** The token that takes the place of the live one. */
  next(presented: FoundRefreshToken, now: number): IssuedRefreshToken;
  /**
   * The token that took the place of a presented one: always the same, so that a retry or a parallel call gets it again although
   * nothing readable is stored. Who knows the old one cannot tell the new one without this server's key.
   */
  successorOf(presented: FoundRefreshToken): string;
}

/** `<grant>~<number>~<HMAC>`: no dot, so that it cannot be taken for an access token. */
const TOKEN = /^([\w-]{1,64})~(0|[1-9a-z][0-9a-z]{0,8})~[\w-]{43}$/;
const GRANT = 'grant_';

export function createRefreshTokens({
  store,
  options: { masterKey, previousMasterKeys, lifetimes },
}: ServerContext): RefreshTokens {
  const key = keyFrom(masterKey);
  const keys = [key, ...previousMasterKeys.map(keyFrom)];

  function issue(
    { id, expiresAt }: Pick<GrantRecord, 'id' | 'expiresAt'>,
    family: Pick<RefreshTokenRecord, 'generation' | 'seed' | 'rotations'>,
    now: number,
  ): IssuedRefreshToken {
    const text = derive(id, family.generation, family.seed, key);
    const dies = Math.min(now + lifetimes.refreshIdle, expiresAt);
    return { text, record: { ...family, hash: hashSecret(text), issuedAt: now, expiresAt: dies } };
  }

  return {
    first: (grant, now) => issue(grant, { generation: 0, seed: newSecret(), rotations: '' }, now),
    async find(text) {
      const [, name, digits] = TOKEN.exec(text) ?? [];
      if (name === undefined || digits === undefined) return null;
      const found = await store.findGrant(GRANT + name);
      if (found?.token == null) return null;
      const presented = {
        text,
        number: Number.parseInt(digits, 36),
        grant: found.grant,
        family: found.token,
      };
      return isGenuine(presented, keys) ? presented : null;
    },
    next({ grant, family }, now) {
      const rotations = recordRotation(family, now, lifetimes.refreshGrace);
      return issue(grant, { generation: family.generation + 1, seed: family.seed, rotations }, now);
    },
    successorOf({ grant, number, family }) {
      const [own = '', ...others] = keys.map((one) => derive(grant.id, number + 1, family.seed, one));
      // Maybe a process that derives from a previous sealing key made it.
      const live = [own, ...others].find((text) => matchesSecret(text, family.hash));
      return number + 1 === family.generation ? (live ?? own) : own;
    },
  };
}

/** The live token is known by its hash, whatever the sealing key is now; an older one has to be derived again. */
function isGenuine({ text, number, grant, family }: FoundRefreshToken, keys: readonly KeyObject[]): boolean {
  if (number === family.generation) return matchesSecret(text, family.hash);
  if (number > family.generation) return false;
  return keys.some((key) => equalInConstantTime(text, derive(grant.id, number, family.seed, key)));
}

const PURPOSE = 'family of refresh tokens';

/** A key object: from bytes, node:crypto makes one at each call, which costs seven times the HMAC. */
function keyFrom(masterKey: Uint8Array): KeyObject {
  return createSecretKey(deriveKey(masterKey, PURPOSE));
}

/** Without the key nobody makes one from what is stored, and without the seed of the family nobody from the key. */
function derive(grantId: string, number: number, seed: string, key: KeyObject): string {
  const name = `${grantId.slice(GRANT.length)}~${number.toString(36)}`;
  return `${name}~${createHmac('sha256', key).update(`${name}~${seed}`).digest('base64url')}`;
}
