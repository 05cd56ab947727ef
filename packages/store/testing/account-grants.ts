/** The contract of an account's grants and sessions: listed, recorded when used, revoked. */
import type { GrantRecord } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import {
  grantOf,
  issueCode,
  makeGrant,
  NOW,
  newCode,
  newRefreshToken,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeAccountGrants(store: StoreOfTest): void {
  const make = (accountId: string, lastUsedAt = NOW) =>
    makeGrant(store(), { grant: { accountId, lastUsedAt } });
  const isLive = (grantId: string) => store().isAccessTokenLive('token', grantId);

  describe('the grants of an account', () => {
    it('are listed while they stand, the last used first, and nobody else\u2019s', async () => {
      const [first, last] = [await make('user_ada', NOW + 1), await make('user_ada', NOW + 2)];
      const { grant: revoked } = await make('user_ada');
      await store().revokeGrant(revoked.id, NOW);
      await make('user_bob');
      await makeGrant(store(), { grant: { accountId: 'user_ada', expiresAt: NOW + 10 } });
      expect(await store().listGrants('user_ada', NOW + 10)).toEqual([last.grant, first.grant]);
      expect(await store().listGrants('user_eve', NOW)).toEqual([]);
    });

    it('are told by what they allow a client with the same consent digest, each kind once, while they stand', async () => {
      const allow = async (grant: Partial<GrantRecord>) =>
        (
          await makeGrant(store(), {
            grant: { accountId: 'user_ada', clientId: 'app', consentDigest: 'these', ...grant },
          })
        ).grant;
      const kindOf = ({ scopes, resources, workspace, lastUsedAt }: GrantRecord) => ({
        scopes,
        resources,
        workspace,
        lastUsedAt,
      });
      const wide = await allow({ scopes: ['notes:read', 'notes:write'], lastUsedAt: NOW + 3 });
      await allow({ scopes: ['notes:read'], lastUsedAt: NOW + 1 });
      const narrow = await allow({ scopes: ['notes:read'], lastUsedAt: NOW + 4 });
      await allow({ scopes: ['notes:read'], lastUsedAt: NOW + 2 });
      const away = await allow({ scopes: ['notes:read'], workspace: 'team', lastUsedAt: NOW + 2 });
      const revoked = await allow({ workspace: 'ended', lastUsedAt: NOW + 9 });
      await store().revokeGrant(revoked.id, NOW);
      await allow({ workspace: 'over', expiresAt: NOW + 10 });
      for (const other of [{ accountId: 'user_bob' }, { clientId: 'another' }, { consentDigest: 'others' }]) {
        await allow({ workspace: 'foreign', ...other });
      }
      const consents = await store().listRememberedConsents('user_ada', 'app', 'these', NOW + 10);
      expect(consents).toEqual([narrow, wide, away].map(kindOf));
      expect(await store().listRememberedConsents('user_eve', 'app', 'these', NOW)).toEqual([]);
    });

    it('tell what the newest of them allows a client, whichever was used last', async () => {
      const allow = async (createdAt: number, changes: Partial<GrantRecord>) => {
        const about = {
          accountId: 'user_ada',
          clientId: 'app',
          consentDigest: 'these',
          createdAt,
          ...changes,
        };
        return (await makeGrant(store(), { grant: about })).grant;
      };
      const newest = () => store().findNewestRememberedConsent('user_ada', 'app', 'these', NOW + 10);
      expect(await newest()).toBeNull();
      const { scopes, resources } = await allow(NOW + 1, { workspace: 'old', lastUsedAt: NOW + 9 });
      const late = await allow(NOW + 2, { workspace: 'late', lastUsedAt: NOW + 2 });
      for (const other of [{ accountId: 'user_bob' }, { clientId: 'another' }, { consentDigest: 'others' }]) {
        await allow(NOW + 4, { workspace: 'foreign', ...other });
      }
      await allow(NOW + 3, { workspace: 'over', expiresAt: NOW + 10 });
      expect(await newest()).toEqual({ scopes, resources, workspace: 'late', lastUsedAt: NOW + 2 });
      await store().revokeGrant(late.id, NOW);
      expect(await newest()).toEqual({ scopes, resources, workspace: 'old', lastUsedAt: NOW + 9 });
    });

    it('note when and from where they were used', async () => {
      const [used, other] = [await make('user_ada'), await make('user_ada', NOW - 1)];
      const successor = newRefreshToken({ issuedAt: NOW + 5 });
      await store().rotateRefreshToken(used.grant.id, used.token.hash, successor, '2001:db8::1');
      expect(await store().listGrants('user_ada', NOW)).toEqual([
        { ...used.grant, lastUsedAt: NOW + 5, lastUsedFrom: '2001:db8::1' },
        other.grant,
      ]);
    });

    it('end one by one, each with its tokens, by their own account only', async () => {
      const [ended, kept] = [await make('user_ada'), await make('user_ada')];
      expect(await store().revokeAccountGrants('user_bob', ended.grant.id, NOW + 1)).toBe(0);
      expect(await isLive(ended.grant.id)).toBe(true);

      expect(await store().revokeAccountGrants('user_ada', ended.grant.id, NOW + 1)).toBe(1);
      expect(await store().revokeAccountGrants('user_ada', ended.grant.id, NOW + 2)).toBe(0);
      expect([await isLive(ended.grant.id), await isLive(kept.grant.id)]).toEqual([false, true]);
      const successor = newRefreshToken();
      expect(await store().rotateRefreshToken(ended.grant.id, ended.token.hash, successor, null)).toBe(
        'conflict',
      );
      expect((await store().findGrant(ended.grant.id))?.grant.revokedAt).toBe(NOW + 1);
      expect(await store().listGrants('user_ada', NOW)).toEqual([kept.grant]);
    });

    it('end all at once, with the codes that would make another, and nobody else\u2019s', async () => {
      const grants = [await make('user_ada'), await make('user_ada')];
      const { grant: foreign } = await make('user_bob');
      const [code, foreignCode] = [
        await issueCode(store(), newCode({ accountId: 'user_ada' })),
        await issueCode(store(), newCode({ accountId: 'user_bob' })),
      ];
      expect(await store().revokeAccountGrants('user_ada', null, NOW + 1)).toBe(2);
      expect(await store().revokeAccountGrants('user_ada', null, NOW + 1)).toBe(0);
      expect(await Promise.all(grants.map(({ grant }) => isLive(grant.id)))).toEqual([false, false]);
      expect(await isLive(foreign.id)).toBe(true);
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW + 1)).toBe('already_used');
      expect(await store().redeemCode(foreignCode.hash, grantOf(foreignCode), null, NOW + 1)).toBe(
        'redeemed',
      );
    });

    it(`leave none behind when ${RACERS} codes are redeemed while all is ended`, async () => {
      const codes = await Promise.all(
        times(RACERS, () => issueCode(store(), newCode({ accountId: 'user_ada' }))),
      );
      await race([
        ...codes.map((code) => () => store().redeemCode(code.hash, grantOf(code), null, NOW + 1)),
        async () => String(await store().revokeAccountGrants('user_ada', null, NOW + 1)),
      ]);
      const late = await Promise.all(
        codes.map((code) => store().redeemCode(code.hash, grantOf(code), null, NOW + 1)),
      );
      expect(late.every((outcome) => outcome === 'already_used')).toBe(true);
      // What the race redeemed before the end is ended; what came after found no code.
      const live = await store().listGrants('user_ada', NOW + 1);
      expect(live).toEqual([]);
    });
  });
}
