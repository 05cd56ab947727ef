/** The contract of refresh tokens and their rotation. */
import type { RefreshTokenRecord } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import {
  createGrant,
  grantOf,
  issueSampleCode,
  NOW,
  newAccount,
  newAccountLink,
  newCode,
  newHash,
  newRefreshToken,
  RACERS,
  race,
  type StoreOfTest,
  successorOf,
  times,
} from './samples.ts';

export function describeRefreshTokens(store: StoreOfTest): void {
  const rotate = (grantId: string, presented: { readonly hash: string }, successor: RefreshTokenRecord) =>
    store().rotateRefreshToken(grantId, presented.hash, successor, '2001:db8::1');
  const tokenOf = async (grantId: string) => (await store().findGrant(grantId))?.token;
  const isLive = (grantId: string) => store().isAccessTokenLive('jti', grantId);

  describe('refresh tokens', () => {
    it('finds a refresh token with its grant', async () => {
      const { grant, token } = await createGrant(store());
      expect(await store().findGrant(grant.id)).toEqual({
        grant: { ...grant, revokedAt: null, hasAccount: true },
        token,
      });
      expect(await store().findGrant('grant_unknown')).toBeNull();
    });

    it('finds a grant with whether its account exists and is enabled', async () => {
      const account = newAccount();
      expect(await store().createAccount(account, newAccountLink(account.id))).toBe(true);
      const code = await issueSampleCode(store(), newCode({ accountId: account.id }));
      await store().redeemCode(code.hash, grantOf(code), newRefreshToken(), NOW);
      const find = async () => (await store().findGrant(code.grantId))?.grant;
      expect(await find()).toMatchObject({ hasAccount: true, revokedAt: null });

      await store().disableAccount(account.id, NOW + 1);
      expect(await find()).toMatchObject({ hasAccount: false, revokedAt: NOW + 1 });
      await store().enableAccount(account.id);
      expect(await find()).toMatchObject({ hasAccount: true, revokedAt: NOW + 1 });
    });

    it('rotates a refresh token to its successor and records the use of the grant', async () => {
      const { grant, token } = await createGrant(store());
      const successor = successorOf(token, {
        issuedAt: NOW + 100,
        expiresAt: NOW + 20_000,
        rotations: `[[0,${NOW + 100}]]`,
      });
      expect(await rotate(grant.id, token, successor)).toBe('rotated');
      expect(await store().findGrant(grant.id)).toEqual({
        grant: {
          ...grant,
          revokedAt: null,
          hasAccount: true,
          lastUsedAt: NOW + 100,
          lastUsedFrom: '2001:db8::1',
        },
        token: successor,
      });
      const last = successorOf(successor, { issuedAt: NOW + 200 });
      expect(await store().rotateRefreshToken(grant.id, successor.hash, last, null)).toBe('rotated');
      expect(await store().findGrant(grant.id)).toMatchObject({
        grant: { lastUsedAt: NOW + 200, lastUsedFrom: null },
        token: last,
      });
    });

    it('binds a grant to a key from a successor on, once', async () => {
      const { grant, token } = await createGrant(store());
      const successor = successorOf(token);
      const last = successorOf(successor);
      const bind = (from: RefreshTokenRecord, to: RefreshTokenRecord, key: string) =>
        store().rotateRefreshToken(grant.id, from.hash, to, null, key);
      expect(await bind(token, successor, 'key')).toBe('rotated');
      const bound = { keyThumbprint: 'key', keyBoundFrom: successor.generation };
      expect(await store().findGrant(grant.id)).toMatchObject({ grant: bound, token: successor });
      expect(await bind(successor, last, 'other')).toBe('conflict');
      expect(await store().findGrant(grant.id)).toMatchObject({ grant: bound, token: successor });
      expect(await rotate(grant.id, successor, last)).toBe('rotated');
      expect(await store().findGrant(grant.id)).toMatchObject({ grant: bound, token: last });
    });

    it('does not rotate a refresh token that is not the live one, and changes nothing', async () => {
      const { grant, token } = await createGrant(store());
      const successor = successorOf(token);
      await rotate(grant.id, token, successor);
      const before = await store().findGrant(grant.id);
      for (const presented of [token, { hash: newHash() }]) {
        expect(await rotate(grant.id, presented, newRefreshToken({ issuedAt: NOW + 9 }))).toBe('conflict');
      }
      expect(await store().findGrant(grant.id)).toEqual(before);
    });

    it('T138: does not rotate a refresh token once its grant is revoked', async () => {
      const [{ grant, token }, bystander] = [await createGrant(store()), await createGrant(store())];
      expect(await store().revokeGrant(grant.id, NOW)).toBe(true);
      expect(await rotate(grant.id, token, successorOf(token))).toBe('conflict');
      expect(await tokenOf(grant.id)).toEqual(token);
      expect(await rotate(bystander.grant.id, bystander.token, successorOf(bystander.token))).toBe('rotated');
    });

    it('does not rotate a refresh token of another grant', async () => {
      const [mine, other] = [await createGrant(store()), await createGrant(store())];
      expect(await rotate(other.grant.id, mine.token, successorOf(mine.token))).toBe('conflict');
      expect(await rotate('grant_unknown', mine.token, successorOf(mine.token))).toBe('conflict');
      expect(await tokenOf(other.grant.id)).toEqual(other.token);
      expect(await tokenOf(mine.grant.id)).toEqual(mine.token);
    });

    it('creates a grant without a refresh token', async () => {
      const code = await issueSampleCode(store());
      const grant = grantOf(code);
      await store().redeemCode(code.hash, grant, null, NOW);
      expect(await store().findGrant(grant.id)).toEqual({
        grant: { ...grant, revokedAt: null, hasAccount: true },
        token: null,
      });
      expect(await rotate(grant.id, { hash: '' }, newRefreshToken())).toBe('conflict');
    });

    it('keeps one row per grant, however often its refresh token is rotated', async () => {
      const { grant, token } = await createGrant(store());
      let live = token;
      for (let number = 1; number <= 30; number += 1) {
        const successor = successorOf(live);
        expect(await rotate(grant.id, live, successor)).toBe('rotated');
        live = successor;
      }
      expect(await tokenOf(grant.id)).toEqual({ ...live, generation: 30 });
      // Only its code and its grant are left to sweep.
      expect(await store().sweep(grant.expiresAt + 100_000, 100)).toBe(2);
    });

    it(`T138: keeps one live successor when ${RACERS} rotations race`, async () => {
      const { grant, token } = await createGrant(store());
      const successors = times(RACERS, () => successorOf(token));
      const outcomes = await race(successors.map((successor) => () => rotate(grant.id, token, successor)));
      expect(outcomes).toEqual({ rotated: 1, conflict: RACERS - 1 });
      expect(successors).toContainEqual(await tokenOf(grant.id));
      expect(await isLive(grant.id)).toBe(true);
    });

    it('T138: leaves no live refresh token when a revocation races with rotations', async () => {
      const { grant, token } = await createGrant(store());
      const outcomes = await race<string | boolean>([
        ...times(10, () => () => rotate(grant.id, token, successorOf(token))),
        () => store().revokeGrant(grant.id, NOW),
        ...times(10, () => () => rotate(grant.id, token, successorOf(token))),
        () => store().revokeGrant(grant.id, NOW),
      ]);
      expect([outcomes['true'], outcomes['false']]).toEqual([1, 1]);
      expect(await isLive(grant.id)).toBe(false);
      const left = await tokenOf(grant.id);
      expect(await rotate(grant.id, left ?? token, successorOf(token))).toBe('conflict');
    });
  });
}
