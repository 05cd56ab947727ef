/** The contract of revocation: of a grant with all its tokens, and of one access token. */
import { describe, expect, it } from 'vitest';
import { makeGrant, NOW, newHash, newRefreshToken, type StoreOfTest } from './samples.ts';

export function describeRevocation(store: StoreOfTest): void {
  describe('revocation', () => {
    it('revokes a grant with every token of it, and no other grant', async () => {
      const [revoked, other] = [await makeGrant(store()), await makeGrant(store())];
      expect(await store().revokeGrant(revoked.grant.id, NOW + 7)).toBe(true);
      expect((await store().findGrant(revoked.grant.id))?.grant.revokedAt).toBe(NOW + 7);
      const successor = newRefreshToken();
      expect(await store().rotateRefreshToken(revoked.grant.id, revoked.token.hash, successor, null)).toBe(
        'conflict',
      );
      expect(await store().isAccessTokenLive('jti', revoked.grant.id)).toBe(false);

      expect((await store().findGrant(other.grant.id))?.grant.revokedAt).toBeNull();
      expect(await store().isAccessTokenLive('jti', other.grant.id)).toBe(true);
    });

    it('changes nothing when it revokes twice, or what is unknown', async () => {
      const { grant } = await makeGrant(store());
      expect(await store().revokeGrant(grant.id, NOW + 7)).toBe(true);
      expect(await store().revokeGrant(grant.id, NOW + 8)).toBe(false);
      expect(await store().revokeGrant('grant_unknown', NOW)).toBe(false);
      expect((await store().findGrant(grant.id))?.grant.revokedAt).toBe(NOW + 7);
      expect(await store().isAccessTokenLive('jti', 'grant_unknown')).toBe(false);
    });

    it('revokes one access token and leaves its grant alone', async () => {
      const { grant } = await makeGrant(store());
      const [revoked, other] = [newHash(), newHash()];
      expect(await store().revokeAccessToken(revoked, NOW + 600)).toBe(true);
      expect(await store().revokeAccessToken(revoked, NOW + 600)).toBe(false);
      expect(await store().isAccessTokenLive(revoked, grant.id)).toBe(false);
      expect(await store().isAccessTokenLive(other, grant.id)).toBe(true);
      expect((await store().findGrant(grant.id))?.grant.revokedAt).toBeNull();
    });

    it('judges an access token without a grant by itself alone', async () => {
      const [revoked, other] = [newHash(), newHash()];
      await store().revokeAccessToken(revoked, NOW + 600);
      expect(await store().isAccessTokenLive(revoked, null)).toBe(false);
      expect(await store().isAccessTokenLive(other, null)).toBe(true);
    });
  });
}
