/** Scopes that an external decision point decides about: at consent, for codes, refreshed tokens and clients themselves. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import type { DecideScopes } from '../src/index.ts';
import { redeemAt } from './federation-scene.ts';
import { basic, CLIENTS, NOTES, refreshing, startServer } from './server-under-test.ts';
import { EMAIL, permissionsOf, requestOf, setScene, textOf } from './visitor.ts';

/** Permits what the test says at the moment. */
function createDecider(permitted: readonly string[]) {
  const asked: Parameters<DecideScopes>[0][] = [];
  const state = { permitted, isDown: false };
  const decideScopes: DecideScopes = async (request) => {
    asked.push(request);
    if (state.isDown) throw temporarilyUnavailable('the policy decision point: it responded 500', 17);
    return request.scopes.filter((scope) => state.permitted.includes(scope));
  };
  return { asked, state, decideScopes };
}

const ALL = ['notes:read', 'notes:write'];
const ask = { resource: NOTES, scope: 'notes:read notes:write' };

describe('a scope that the decision point refuses', () => {
  it('is neither offered nor granted, and is once it is permitted', async () => {
    const { asked, state, decideScopes } = createDecider(['notes:read']);
    const t = await setScene({ decideScopes });
    const consent = await t.visitor.signIn(requestOf(ask));
    const { offered, withheld } = permissionsOf(consent);
    expect(offered).not.toContain('Change your notes');
    expect(withheld).toContain('Change your notes The access policy of this server refuses this.');
    const token = await redeemAt(t, await t.visitor.submit(consent, { decision: 'allow' }));
    expect(token.body['scope']).toBe('notes:read');
    expect(asked[0]).toMatchObject({
      resource: NOTES,
      scopes: expect.arrayContaining(ALL),
      subject: { clientId: 'web', claims: { email: EMAIL } },
      accountId: expect.stringMatching(/^user_/),
    });
    state.permitted = ALL;
    const twin = await t.visitor.signIn(requestOf(ask));
    expect(permissionsOf(twin).offered).toContain('Change your notes');
    expect(permissionsOf(twin).withheld).toBe('');
  });

  it('is refused with invalid_scope at a refresh, and nothing changes', async () => {
    const { state, decideScopes } = createDecider(ALL);
    const t = await startServer({ decideScopes });
    const { body } = await t.signIn();
    state.permitted = ['notes:read'];
    const before = t.snapshot();
    const refused = await t.post('/token', { ...refreshing(body['refresh_token']), scope: 'notes:write' });
    expect([refused.body['error'], t.snapshot()]).toEqual(['invalid_scope', before]);
    expect((await t.post('/token', refreshing(body['refresh_token']))).body['scope']).toBe('notes:read');
  });

  it('is not granted to a client that acts for itself', async () => {
    const { asked, decideScopes } = createDecider([]);
    const clients = CLIENTS.map((one) =>
      'client_id' in one && one.client_id === 'nightly' ? { ...one, scope: 'notes:read' } : one,
    );
    const t = await startServer({ decideScopes, clients });
    const form = { grant_type: 'client_credentials', resource: NOTES };
    const refused = await t.post('/token', form, basic('nightly', 'nightly-secret'));
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_scope']);
    expect(asked.at(-1)).toMatchObject({ accountId: null, subject: { clientId: 'nightly', groups: [] } });
  });
});

describe('the scopes that a decision point decides about', () => {
  it('are those that are asked for, and what they include', async () => {
    const { asked, decideScopes } = createDecider(ALL);
    const t = await setScene({ decideScopes });
    await t.visitor.signIn(requestOf({ ...ask, scope: 'notes:read' }));
    expect(asked.map(({ scopes }) => scopes)).toEqual([['notes:read']]);
    await t.visitor.signIn(requestOf({ ...ask, scope: 'notes:write' }));
    expect(asked.at(-1)?.scopes).toEqual(['notes:write', 'notes:read']);
  });

  it('are those of the grant at a refresh', async () => {
    const { asked, decideScopes } = createDecider(ALL);
    const t = await startServer({ decideScopes });
    const { body } = await t.signIn({ scopes: ['notes:read'] });
    await t.post('/token', refreshing(body['refresh_token']));
    expect(new Set(asked.flatMap(({ scopes }) => scopes))).toEqual(new Set(['notes:read']));
  });
});

describe('a decision point that does not respond', () => {
  it('is a 503 with Retry-After at a refresh, which changes nothing and can be repeated', async () => {
    const { state, decideScopes } = createDecider(ALL);
    const t = await startServer({ decideScopes });
    const { body } = await t.signIn();
    state.isDown = true;
    const before = t.snapshot();
    const failed = await t.post('/token', refreshing(body['refresh_token']));
    expect([failed.status, failed.body['error'], t.snapshot()]).toEqual([
      503,
      'temporarily_unavailable',
      before,
    ]);
    expect(failed.headers.get('retry-after')).toBe('17');
    state.isDown = false;
    expect((await t.post('/token', refreshing(body['refresh_token']))).status).toBe(200);
  });

  it('shows no consent page', async () => {
    const { state, decideScopes } = createDecider(ALL);
    const t = await setScene({ decideScopes });
    state.isDown = true;
    const page = await t.visitor.signIn(requestOf(ask));
    expect(textOf(page)).not.toContain('Change your notes');
    expect(page.status).toBe(503);
  });
});
