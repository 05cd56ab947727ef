/** The contract of refresh tokens and their rotation. */
import type { RefreshTokenRecord } from '@portcullis/authorization-server/ports';
import { describe, expect, it } from 'vitest';
import {
  makeGrant,
  NOW,
  newHash,
  newRefreshToken,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

const GRACE = 30;

export function describeRefreshTokens(store: StoreOfTest): void {
  const rotate = (presented: { readonly hash: string }, successor: RefreshTokenRecord, at: number) =>
    store().rotateRefreshToken(presented.hash, successor, at, GRACE);
  const isLive = (grantId: string) => store().isAccessTokenLive('jti', grantId);

  describe('refresh tokens', () => {
    it('rotates a token: the successor takes its place', async () => {
      const { grant, token } = await makeGrant(store());
      const successor = newRefreshToken(grant.id, { issuedAt: NOW + 100, expiresAt: NOW + 20_000 });
      expect(await rotate(token, successor, NOW + 100)).toBe('rotated');
      expect(await store().findRefreshToken(token.hash)).toEqual({
        token: { ...token, rotatedAt: NOW + 100 },
        grant: { ...grant, revokedAt: null },
      });
      expect(await store().findRefreshToken(successor.hash)).toEqual({
        token: { ...successor, rotatedAt: null },
        grant: { ...grant, revokedAt: null },
      });
    });

    it('answers a retry within the grace window with the same successor, and stores nothing', async () => {
      const { grant, token } = await makeGrant(store());
      const successor = newRefreshToken(grant.id);
      await rotate(token, successor, NOW);
      expect(await rotate(token, { ...successor, expiresAt: NOW + 99_999 }, NOW)).toBe('replayed');
      expect(await rotate(token, successor, NOW + GRACE)).toBe('replayed');
      expect((await store().findRefreshToken(successor.hash))?.token).toEqual({
        ...successor,
        rotatedAt: null,
      });
      expect(await isLive(grant.id)).toBe(true);
    });

    it('T138: takes a later use for theft: the whole family dies, and no other', async () => {
      const { grant, token } = await makeGrant(store());
      const bystander = await makeGrant(store());
      const successor = newRefreshToken(grant.id);
      await rotate(token, successor, NOW);
      const late = NOW + GRACE + 1;

      expect(await rotate(token, successor, late)).toBe('reused');
      expect((await store().findRefreshToken(successor.hash))?.grant.revokedAt).toBe(late);
      expect(await isLive(grant.id)).toBe(false);
      const next = newRefreshToken(grant.id);
      expect(await rotate(successor, next, late)).toBe('gone');
      expect(await store().findRefreshToken(next.hash)).toBeNull();
      expect(await rotate(token, successor, late + 1)).toBe('gone');

      expect(await isLive(bystander.grant.id)).toBe(true);
      expect(await rotate(bystander.token, newRefreshToken(bystander.grant.id), late)).toBe('rotated');
    });

    it('sees the reuse of any ancestor, and forgives each its own grace', async () => {
      const { grant, token } = await makeGrant(store());
      const [second, third, fourth] = times(3, () => newRefreshToken(grant.id));
      if (second === undefined || third === undefined || fourth === undefined)
        throw new Error('three were made');
      expect(await rotate(token, second, NOW)).toBe('rotated');
      expect(await rotate(second, third, NOW + 20)).toBe('rotated');
      expect(await rotate(token, second, NOW + 25)).toBe('replayed');
      expect(await rotate(second, third, NOW + 45)).toBe('replayed');
      expect(await rotate(third, fourth, NOW + 1000)).toBe('rotated');
      expect(await isLive(grant.id)).toBe(true);
      expect(await rotate(token, second, NOW + 1001)).toBe('reused');
      expect(await isLive(grant.id)).toBe(false);
    });

    it('knows no grace when it is zero, save the same second', async () => {
      const { grant, token } = await makeGrant(store());
      const successor = newRefreshToken(grant.id);
      await store().rotateRefreshToken(token.hash, successor, NOW, 0);
      expect(await store().rotateRefreshToken(token.hash, successor, NOW, 0)).toBe('replayed');
      expect(await store().rotateRefreshToken(token.hash, successor, NOW + 1, 0)).toBe('reused');
    });

    it('T141: rotates until the second in which the token or its grant expires', async () => {
      const { grant, token } = await makeGrant(store(), { token: { expiresAt: NOW + 100 } });
      const late = newRefreshToken(grant.id);
      expect(await rotate(token, late, NOW + 100)).toBe('gone');
      expect(await store().findRefreshToken(late.hash)).toBeNull();
      expect((await store().findRefreshToken(token.hash))?.token.rotatedAt).toBeNull();
      expect(await rotate(token, newRefreshToken(grant.id), NOW + 99)).toBe('rotated');

      const short = await makeGrant(store(), { grant: { expiresAt: NOW + 100 } });
      expect(await rotate(short.token, newRefreshToken(short.grant.id), NOW + 100)).toBe('gone');
      expect(await rotate(short.token, newRefreshToken(short.grant.id), NOW + 99)).toBe('rotated');
    });

    it('T141: takes a clock that went back for a retry, not for theft', async () => {
      const { grant, token } = await makeGrant(store());
      const successor = newRefreshToken(grant.id);
      await rotate(token, successor, NOW + 3600);
      expect(await rotate(token, successor, NOW)).toBe('replayed');
      expect(await isLive(grant.id)).toBe(true);
    });

    it('knows no stranger', async () => {
      const { grant } = await makeGrant(store());
      const successor = newRefreshToken(grant.id);
      expect(await store().findRefreshToken(newHash())).toBeNull();
      expect(await rotate({ hash: newHash() }, successor, NOW)).toBe('gone');
      expect(await store().findRefreshToken(successor.hash)).toBeNull();
      expect(await isLive(grant.id)).toBe(true);
    });

    it('gives the successor to the grant of the presented token, whatever the successor says', async () => {
      const [mine, other] = [await makeGrant(store()), await makeGrant(store())];
      const successor = newRefreshToken(other.grant.id);
      await rotate(mine.token, successor, NOW);
      expect((await store().findRefreshToken(successor.hash))?.grant.id).toBe(mine.grant.id);
    });

    it(`T138: lets ${RACERS} parallel refreshes of one token end in one live successor`, async () => {
      const { grant, token } = await makeGrant(store());
      const successor = newRefreshToken(grant.id);
      const outcomes = await race(times(RACERS, () => () => rotate(token, successor, NOW)));
      expect(outcomes).toEqual({ rotated: 1, replayed: RACERS - 1 });
      expect((await store().findRefreshToken(successor.hash))?.token.rotatedAt).toBeNull();
      expect(await isLive(grant.id)).toBe(true);
    });

    it(`T138: lets nothing survive when ${RACERS} reuse one token at once`, async () => {
      const { grant, token } = await makeGrant(store());
      const successor = newRefreshToken(grant.id);
      await rotate(token, successor, NOW);
      const late = NOW + GRACE + 1;
      const outcomes = await race(times(RACERS, () => () => rotate(token, successor, late)));
      expect(Object.keys(outcomes).filter((outcome) => outcome !== 'reused' && outcome !== 'gone')).toEqual(
        [],
      );
      expect(outcomes['reused']).toBeGreaterThanOrEqual(1);
      expect(await isLive(grant.id)).toBe(false);
      expect(await rotate(successor, newRefreshToken(grant.id), late)).toBe('gone');
    });

    it('T138: lets nothing survive when a revocation comes amid refreshes', async () => {
      const { grant, token } = await makeGrant(store());
      const successor = newRefreshToken(grant.id);
      await Promise.all([
        ...times(10, () => rotate(token, successor, NOW)),
        store().revokeGrant(grant.id, NOW),
        ...times(10, () => rotate(token, successor, NOW)),
      ]);
      expect(await isLive(grant.id)).toBe(false);
      for (const presented of [token, successor]) {
        expect(await rotate(presented, newRefreshToken(grant.id), NOW)).toBe('gone');
      }
    });
  });
}
