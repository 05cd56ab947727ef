/** The contract of grants: revoked with all their tokens, listed by account, remembered as consents. */
import type { GrantRecord } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import {
  createGrant,
  grantOf,
  issueSampleCode,
  NOW,
  newCode,
  newHash,
  newRefreshToken,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeRevocation(store: StoreOfTest): void {
  describe('revocation', () => {
    it('revokes a grant with all its tokens, and no other grant', async () => {
      const [revoked, other] = [await createGrant(store()), await createGrant(store())];
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

    it('changes nothing when a grant is revoked again or is unknown', async () => {
      const { grant } = await createGrant(store());
      expect(await store().revokeGrant(grant.id, NOW + 7)).toBe(true);
      expect(await store().revokeGrant(grant.id, NOW + 8)).toBe(false);
      expect(await store().revokeGrant('grant_unknown', NOW)).toBe(false);
      expect((await store().findGrant(grant.id))?.grant.revokedAt).toBe(NOW + 7);
      expect(await store().isAccessTokenLive('jti', 'grant_unknown')).toBe(false);
    });

    it('lists the grants that were revoked at or after a given time, and nothing else', async () => {
      const [before, ended, live] = [
        await createGrant(store()),
        await createGrant(store()),
        await createGrant(store()),
      ];
      expect(await store().listRevokedGrants(NOW)).toEqual([]);
      await store().revokeGrant(before.grant.id, NOW - 1);
      await store().revokeGrant(ended.grant.id, NOW + 7);
      await store().revokeAccessToken(newHash(), NOW + 600);
      for (const since of [NOW, NOW + 7])
        expect(await store().listRevokedGrants(since)).toEqual([ended.grant.id]);
      expect(await store().listRevokedGrants(NOW + 8)).toEqual([]);
      expect(await store().isAccessTokenLive('jti', live.grant.id)).toBe(true);
    });

    it('revokes one access token without its grant', async () => {
      const { grant } = await createGrant(store());
      const [revoked, other] = [newHash(), newHash()];
      expect(await store().revokeAccessToken(revoked, NOW + 600)).toBe(true);
      expect(await store().revokeAccessToken(revoked, NOW + 600)).toBe(false);
      expect(await store().isAccessTokenLive(revoked, grant.id)).toBe(false);
      expect(await store().isAccessTokenLive(other, grant.id)).toBe(true);
      expect((await store().findGrant(grant.id))?.grant.revokedAt).toBeNull();
    });

    it('checks an access token without a grant by its own revocation only', async () => {
      const [revoked, other] = [newHash(), newHash()];
      await store().revokeAccessToken(revoked, NOW + 600);
      expect(await store().isAccessTokenLive(revoked, null)).toBe(false);
      expect(await store().isAccessTokenLive(other, null)).toBe(true);
    });
  });
}

export function describeAccountGrants(store: StoreOfTest): void {
  const make = (accountId: string, lastUsedAt = NOW) =>
    createGrant(store(), { grant: { accountId, lastUsedAt } });
  const isLive = (grantId: string) => store().isAccessTokenLive('token', grantId);

  describe('the grants of an account', () => {
    it('lists the live grants of one account, page by page, each once', async () => {
      const grants: GrantRecord[] = [];
      for (const clientId of ['b', 'a', 'b', 'c', 'a']) {
        grants.push((await createGrant(store(), { grant: { accountId: 'user_ada', clientId } })).grant);
      }
      const { grant: revoked } = await make('user_ada');
      await store().revokeGrant(revoked.id, NOW);
      await make('user_bob');
      await createGrant(store(), { grant: { accountId: 'user_ada', expiresAt: NOW + 10 } });
      const pages: GrantRecord[] = [];
      for (let after: GrantRecord | null = null, last = false; !last; ) {
        const page: readonly GrantRecord[] = await store().listGrants('user_ada', NOW + 10, after, 2);
        pages.push(...page);
        last = page.length < 2;
        after = page.at(-1) ?? after;
      }
      expect(pages.map(({ clientId }) => clientId)).toEqual(['a', 'a', 'b', 'b', 'c']);
      const byId = (one: GrantRecord, other: GrantRecord) => one.id.localeCompare(other.id);
      expect(pages.toSorted(byId)).toEqual(grants.toSorted(byId));
      expect(await store().listGrants('user_eve', NOW, null, 10)).toEqual([]);
    });

    it('lists what an account allowed one client, each distinct consent once, while its grants are live', async () => {
      const of = async (changes: Partial<GrantRecord>) =>
        (await createGrant(store(), { grant: { accountId: 'user_ada', clientId: 'a', ...changes } })).grant;
      await of({ lastUsedAt: NOW + 1 });
      const { scopes, resources, workspace } = await of({ lastUsedAt: NOW + 3 });
      const elsewhere = await of({ workspace: 'elsewhere', lastUsedAt: NOW + 2 });
      const revoked = await of({ workspace: 'revoked' });
      await store().revokeGrant(revoked.id, NOW);
      await of({ workspace: 'expired', expiresAt: NOW + 10 });
      for (const other of [{ clientId: 'b' }, { accountId: 'user_bob' }])
        await of({ workspace: 'foreign', ...other });
      const consent = { scopes, resources, workspace, lastUsedAt: NOW + 3 };
      expect(await store().listConsents('user_ada', 'a', null, NOW + 10)).toEqual([
        consent,
        { ...consent, workspace: elsewhere.workspace, lastUsedAt: NOW + 2 },
      ]);
    });

    it('finds the newest consent for a client, whichever was used last and whatever its digest is', async () => {
      const newest = () => store().findNewestConsent('user_ada', 'a', null, NOW + 10);
      const of = async (createdAt: number, changes: Partial<GrantRecord>) => {
        const about = { accountId: 'user_ada', clientId: 'a', createdAt, consentDigest: `${createdAt}` };
        return (await createGrant(store(), { grant: { ...about, ...changes } })).grant;
      };
      expect(await newest()).toBeNull();
      const { scopes, resources } = await of(NOW + 1, { workspace: 'old', lastUsedAt: NOW + 9 });
      const late = await of(NOW + 2, { workspace: 'late', lastUsedAt: NOW + 2 });
      await of(NOW + 3, { workspace: 'expired', expiresAt: NOW + 10 });
      for (const other of [{ clientId: 'b' }, { accountId: 'user_bob' }])
        await of(NOW + 4, { workspace: 'foreign', ...other });
      const consent = { scopes, resources };
      expect(await newest()).toEqual({ ...consent, workspace: 'late', lastUsedAt: NOW + 2 });
      await store().revokeGrant(late.id, NOW);
      expect(await newest()).toEqual({ ...consent, workspace: 'old', lastUsedAt: NOW + 9 });
    });

    it('lists live grants of all accounts for one client, at most a number of them', async () => {
      const of = async (clientId: string, accountId: string, expiresAt = NOW + 99) =>
        (await createGrant(store(), { grant: { accountId, clientId, expiresAt } })).grant.id;
      const live = [await of('a', 'user_ada'), await of('a', 'user_bob')];
      await of('b', 'user_ada');
      await of('a', 'user_ada', NOW);
      await store().revokeGrant(await of('a', 'user_ada'), NOW);
      const listed = await store().listGrantsOfClient('a', NOW, 9);
      expect(listed.map(({ id }) => id).toSorted()).toEqual(live.toSorted());
      expect(await store().listGrantsOfClient('a', NOW, 1)).toHaveLength(1);
    });

    it('revokes the least recently used grants of an account and client beyond a number, and no others', async () => {
      const of = async (clientId: string, lastUsedAt: number, accountId = 'user_ada') =>
        (await createGrant(store(), { grant: { accountId, clientId, lastUsedAt } })).grant;
      const [idle, used, newest] = [await of('a', NOW + 1), await of('a', NOW + 3), await of('a', NOW + 2)];
      const others = [await of('b', NOW), await of('a', NOW, 'user_bob')];
      expect(await store().hasClientGrants('user_ada', 'a', 3)).toBe(true);
      expect(await store().hasClientGrants('user_ada', 'a', 4)).toBe(false);
      expect(await store().revokeSurplusGrants('user_ada', 'a', 3, NOW + 5)).toBe(0);
      expect(await store().revokeSurplusGrants('user_ada', 'a', 2, NOW + 5)).toBe(1);
      expect((await store().findGrant(idle.id))?.grant.revokedAt).toBe(NOW + 5);
      for (const { id } of [used, newest, ...others]) expect(await isLive(id)).toBe(true);
      expect(await store().hasClientGrants('user_ada', 'a', 3)).toBe(false);
      // An expired grant is the cleaning job's, and no surplus.
      await createGrant(store(), { grant: { accountId: 'user_ada', clientId: 'a', expiresAt: NOW + 5 } });
      expect(await store().revokeSurplusGrants('user_ada', 'a', 2, NOW + 5)).toBe(0);
    });

    it('lists remembered consents with the same consent digest, each distinct one once, while their grants are live', async () => {
      const allow = async (grant: Partial<GrantRecord>) =>
        (
          await createGrant(store(), {
            grant: { accountId: 'user_ada', clientId: 'app', consentDigest: 'these', ...grant },
          })
        ).grant;
      const kindOf = ({ scopes, resources, workspace, lastUsedAt }: GrantRecord) => ({
        scopes,
        resources,
        workspace,
        lastUsedAt,
      });
      const readWrite = await allow({ scopes: ['notes:read', 'notes:write'], lastUsedAt: NOW + 3 });
      await allow({ scopes: ['notes:read'], lastUsedAt: NOW + 1 });
      const readOnly = await allow({ scopes: ['notes:read'], lastUsedAt: NOW + 4 });
      await allow({ scopes: ['notes:read'], lastUsedAt: NOW + 2 });
      const elsewhere = await allow({ scopes: ['notes:read'], workspace: 'team', lastUsedAt: NOW + 2 });
      const revoked = await allow({ workspace: 'ended', lastUsedAt: NOW + 9 });
      await store().revokeGrant(revoked.id, NOW);
      await allow({ workspace: 'over', expiresAt: NOW + 10 });
      for (const other of [{ accountId: 'user_bob' }, { clientId: 'another' }, { consentDigest: 'others' }]) {
        await allow({ workspace: 'foreign', ...other });
      }
      const consents = await store().listConsents('user_ada', 'app', 'these', NOW + 10);
      expect(consents).toEqual([readOnly, readWrite, elsewhere].map(kindOf));
      expect(await store().listConsents('user_eve', 'app', 'these', NOW)).toEqual([]);
    });

    it('finds the newest remembered consent, regardless of which was used last', async () => {
      const allow = async (createdAt: number, changes: Partial<GrantRecord>) => {
        const about = {
          accountId: 'user_ada',
          clientId: 'app',
          consentDigest: 'these',
          createdAt,
          ...changes,
        };
        return (await createGrant(store(), { grant: about })).grant;
      };
      const newest = () => store().findNewestConsent('user_ada', 'app', 'these', NOW + 10);
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

    it('records when and from which address a grant was used', async () => {
      const used = await make('user_ada');
      const successor = newRefreshToken({ issuedAt: NOW + 5 });
      await store().rotateRefreshToken(used.grant.id, used.token.hash, successor, '2001:db8::1');
      expect(await store().listGrants('user_ada', NOW, null, 100)).toEqual([
        { ...used.grant, lastUsedAt: NOW + 5, lastUsedFrom: '2001:db8::1' },
      ]);
    });

    it('revokes one grant with its tokens, for its own account only', async () => {
      const [ended, retained] = [await make('user_ada'), await make('user_ada')];
      expect(await store().revokeAccountGrants('user_bob', ended.grant.id, NOW + 1)).toBe(0);
      expect(await isLive(ended.grant.id)).toBe(true);

      expect(await store().revokeAccountGrants('user_ada', ended.grant.id, NOW + 1)).toBe(1);
      expect(await store().revokeAccountGrants('user_ada', ended.grant.id, NOW + 2)).toBe(0);
      expect([await isLive(ended.grant.id), await isLive(retained.grant.id)]).toEqual([false, true]);
      const successor = newRefreshToken();
      expect(await store().rotateRefreshToken(ended.grant.id, ended.token.hash, successor, null)).toBe(
        'conflict',
      );
      expect((await store().findGrant(ended.grant.id))?.grant.revokedAt).toBe(NOW + 1);
      expect(await store().listGrants('user_ada', NOW, null, 100)).toEqual([retained.grant]);
    });

    it('revokes all grants and pending codes of one account, and of no other', async () => {
      const grants = [await make('user_ada'), await make('user_ada')];
      const { grant: foreign } = await make('user_bob');
      const [code, foreignCode] = [
        await issueSampleCode(store(), newCode({ accountId: 'user_ada' })),
        await issueSampleCode(store(), newCode({ accountId: 'user_bob' })),
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

    it(`leaves no live grant when ${RACERS} codes are redeemed while all grants are revoked`, async () => {
      const codes = await Promise.all(
        times(RACERS, () => issueSampleCode(store(), newCode({ accountId: 'user_ada' }))),
      );
      await race([
        ...codes.map((code) => () => store().redeemCode(code.hash, grantOf(code), null, NOW + 1)),
        async () => String(await store().revokeAccountGrants('user_ada', null, NOW + 1)),
      ]);
      const late = await Promise.all(
        codes.map((code) => store().redeemCode(code.hash, grantOf(code), null, NOW + 1)),
      );
      expect(late.every((outcome) => outcome === 'already_used')).toBe(true);
      // Grants redeemed before the revocation are revoked; later redemptions find no code.
      const live = await store().listGrants('user_ada', NOW + 1, null, 100);
      expect(live).toEqual([]);
    });
  });
}
