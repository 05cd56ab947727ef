/** Refresh token families: rotation, retries and reuse detection, with one stored record per family. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { VerifiedProof } from '@portcullis/protocol';
import { deriveKey } from '../encryption/encryptor.ts';
import { equalInConstantTime, hashSecret, matchesSecret, newSecret } from '../secrets.ts';
import type { FoundGrant, GrantRecord, RefreshTokenRecord } from '../store/index.ts';
import type { TokenContext } from './options.ts';

/** What using a refresh token of a family means. */
export type RefreshTokenState =
  /** It is the newest of its family and may be rotated. */
  | 'live'
  /** It is genuine and newer than the store, which lost rotations: a restored backup, or an asynchronous failover. It may be rotated. */
  | 'ahead'
  /** It was rotated, and its successor was not used yet: the request is a retry and receives the same successor. */
  | 'retried'
  /** It was rotated before that: it may have been stolen. */
  | 'reused';

/**
 * Whether a refresh token from before its family was bound is sent without the key. Its successor went to the owner of the key, so one
 * of the two has stolen it: this is reuse, or a thief could take over a family by binding it.
 * @see RFC 9700 §4.14.2
 */
export function isReusedWithoutKey(
  { number, grant }: Pick<FoundRefreshToken, 'number' | 'grant'>,
  proof: VerifiedProof | null,
): boolean {
  return number < (grant.keyBoundFrom ?? 0) && proof?.thumbprint !== grant.keyThumbprint;
}

export type FamilyRotations = Pick<RefreshTokenRecord, 'generation' | 'rotations'>;

/** The tokens from a number on, up to the next span, were rotated in one second. */
type RotationSpan = readonly [from: number, at: number];

/**
 * Refresh token reuse detection. By default no clock decides: a client that sends the predecessor of the live token may have lost the
 * response, however long ago; a token older than that has a successor that was received and used.
 * @param number of the token within its family
 * @param grace `null`: a token may be used again until its successor is used; otherwise for so many seconds after its rotation
 * @see RFC 9700 §4.14.2
 */
export function refreshTokenState(
  number: number,
  family: FamilyRotations,
  now: number,
  grace: number | null,
): RefreshTokenState {
  if (number > family.generation) return 'ahead';
  if (number === family.generation) return 'live';
  if (grace === null) return number === family.generation - 1 ? 'retried' : 'reused';
  const rotatedAt = parseRotations(family.rotations).findLast(([from]) => from <= number)?.[1];
  return rotatedAt !== undefined && grace > 0 && now <= rotatedAt + grace ? 'retried' : 'reused';
}

/**
 * A family whose live token is rotated now, or one ahead of it. Rotations past the grace period are dropped.
 * @param number of the token that is rotated
 */
export function rotateFamily(
  number: number,
  { rotations }: Pick<FamilyRotations, 'rotations'>,
  now: number,
  grace: number | null,
): FamilyRotations {
  return { generation: number + 1, rotations: recordRotation(number, rotations, now, grace ?? 0) };
}

function recordRotation(number: number, rotations: string, now: number, grace: number): string {
  // Further rotations within one second add nothing.
  if (rotations.endsWith(`,${now}]]`)) return rotations;
  const withinGrace = parseRotations(rotations).filter(([, at]) => now <= at + grace);
  return JSON.stringify([...withinGrace, [number, now]]);
}

function parseRotations(rotations: string): readonly RotationSpan[] {
  return rotations === '' ? [] : (JSON.parse(rotations) as readonly RotationSpan[]);
}

/** A refresh token that was sent and belongs to a family. Only `find` creates one. */
export interface FoundRefreshToken {
  readonly text: string;
  /** Its position in the family: how many tokens came before it. */
  readonly number: number;
  readonly grant: FoundGrant['grant'];
  readonly family: RefreshTokenRecord;
}

/** Why a refresh token cannot be used, apart from its state within the family; `null` if it can. */
export function refreshTokenIssue(
  { number, family, grant }: Pick<FoundRefreshToken, 'number' | 'family' | 'grant'>,
  now: number,
): string | null {
  if (grant.revokedAt !== null) return 'grant revoked';
  if (grant.expiresAt <= now) return 'grant expired';
  // Disabling the account after this check revokes the grant too, so a rotation fails.
  if (!grant.hasAccount) return 'account disabled or removed';
  // When a token ahead of the store was issued is unknown: after its predecessor, whose idle timeout does not apply.
  if (family.expiresAt <= now && number <= family.generation) return 'idle for too long';
  return null;
}

/** A token for the client, and its stored record. */
interface IssuedRefreshToken {
  readonly text: string;
  readonly record: RefreshTokenRecord;
}

/** A token whose grant is being read. */
export interface ReadAhead {
  readonly number: number;
  readonly grant: Promise<FoundGrant | null>;
}

export type RefreshTokens = ReturnType<typeof createRefreshTokens>;

/** `<grant>~<number>~<HMAC>`: no dot, so that it cannot be mistaken for an access token. */
const TOKEN = /^([\w-]{1,64})~(0|[1-9a-z][0-9a-z]{0,8})~[\w-]{43}$/;
const GRANT_PREFIX = 'grant_';

export function createRefreshTokens({ store, events, options }: TokenContext) {
  const { masterKey, previousMasterKeys, lifetimes, acceptNewerRefreshTokens } = options;
  const key = deriveFamilyKey(masterKey);
  const keys = [key, ...previousMasterKeys.map(deriveFamilyKey)];

  function issue(
    { id, expiresAt }: Pick<GrantRecord, 'id' | 'expiresAt'>,
    family: Pick<RefreshTokenRecord, 'generation' | 'seed' | 'rotations'>,
    now: number,
  ): IssuedRefreshToken {
    const text = computeToken(id, family.generation, family.seed, key);
    const idleUntil = Math.min(now + lifetimes.refreshIdle, expiresAt);
    return { text, record: { ...family, hash: hashSecret(text), issuedAt: now, expiresAt: idleUntil } };
  }

  /** Starts reading the grant of a token; `undefined` if this server did not issue it. */
  function readAhead(text: string): ReadAhead | undefined {
    const [, name, digits] = TOKEN.exec(text) ?? [];
    if (name === undefined || digits === undefined) return undefined;
    const grant = store.findGrant(GRANT_PREFIX + name);
    // A request that is rejected first does not await it.
    grant.catch(() => {});
    return { number: Number.parseInt(digits, 36), grant };
  }

  return {
    readAhead,
    /** The first token of a grant. It expires if it is not used, and never outlives the grant. */
    first: (grant: Pick<GrantRecord, 'id' | 'expiresAt'>, now: number): IssuedRefreshToken =>
      issue(grant, { generation: 0, seed: newSecret(), rotations: '' }, now),
    /** Finds the family of a token; `null` for any text that this server did not issue. */
    async find(text: string, ahead = readAhead(text)): Promise<FoundRefreshToken | null> {
      if (ahead === undefined) return null;
      const stored = await ahead.grant;
      if (stored?.token == null) return null;
      const { number } = ahead;
      const found = { text, number, grant: stored.grant, family: stored.token };
      if (number > stored.token.generation && !acceptNewerRefreshTokens) return null;
      return isGenuine(found, keys) ? found : null;
    },
    /** The token that replaces the live one, or one ahead of it. */
    next({ grant, number, family }: FoundRefreshToken, now: number): IssuedRefreshToken {
      const rotated = rotateFamily(number, family, now, lifetimes.refreshGrace);
      return issue(grant, { ...rotated, seed: family.seed }, now);
    },
    /**
     * The token that replaced a rotated one: always the same, so that a retry or a concurrent request gets it again although it is
     * not stored in readable form. It cannot be computed from the old token without this server's key.
     */
    successorOf({ grant, number, family }: FoundRefreshToken): string {
      const [own = '', ...others] = keys.map((one) => computeToken(grant.id, number + 1, family.seed, one));
      if (number + 1 !== family.generation) return own;
      // The live token may come from a process that still uses a previous master key.
      return [own, ...others].find((text) => matchesSecret(text, family.hash)) ?? own;
    },
    /**
     * Revokes the grant of a token that was used although its successor is in use: reuse detection cannot distinguish the legitimate
     * client from an attacker.
     * @see RFC 9700 §4.14.2
     */
    async revokeReused({ grant }: FoundRefreshToken, now: number): Promise<void> {
      if (!(await store.revokeGrant(grant.id, now))) return;
      const { id: grantId, clientId, accountId, scopes, resources: [resource = ''] } = grant; // biome-ignore format: one list
      events({ type: 'refresh_token.reuse_detected', clientId, accountId, grantId, resource, scopes });
    },
  };
}

/** The live token is compared with its hash, whatever the master key is now; an older or newer one is computed again. */
function isGenuine({ text, number, grant, family }: FoundRefreshToken, keys: readonly KeyObject[]): boolean {
  if (number === family.generation) return matchesSecret(text, family.hash);
  return keys.some((key) => equalInConstantTime(text, computeToken(grant.id, number, family.seed, key)));
}

/** Part of the derivation: changing it invalidates retries of tokens issued before. */
const KEY_PURPOSE = 'family of refresh tokens';

/** A key object: `node:crypto` would make one from bytes at each call, which costs seven times the HMAC. */
function deriveFamilyKey(masterKey: Uint8Array): KeyObject {
  return createSecretKey(deriveKey(masterKey, KEY_PURPOSE));
}

/** Derives tokens from the key and the seed of the family: neither a copy of the store nor a leaked key is enough to compute a token. */
function computeToken(grantId: string, number: number, seed: string, key: KeyObject): string {
  const name = `${grantId.slice(GRANT_PREFIX.length)}~${number.toString(36)}`;
  return `${name}~${createHmac('sha256', key).update(`${name}~${seed}`).digest('base64url')}`;
}
