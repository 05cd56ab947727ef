/** Step-up authentication at the guard (RFC 9470): operations that demand a recent sign-in, or one with two factors. */
import { parseChallenges } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { protect } from '../src/adapters/fetch.ts';
import { createGuard, type GuardOptions } from '../src/index.ts';
import { createIssuer, NOW, RESOURCE } from './support/issuer.ts';

const demands: Readonly<Record<string, object>> = {
  transfer: { maxAge: 300 },
  delete: { acrValues: ['2fa'] },
  both: { maxAge: 60, acrValues: ['2fa'] },
};

async function open(options: Partial<GuardOptions> = {}) {
  const issuer = await createIssuer();
  const guard = createGuard({
    resource: RESOURCE,
    verifier: issuer.verifier(),
    authenticationFor: ({ tool }) => demands[tool ?? ''] ?? null,
    clock: () => NOW,
    events: () => undefined,
    ...options,
  } as GuardOptions);
  const handle = protect(guard, async (request) => Response.json(await request.json()));
  return async (tool: string, claims: Record<string, unknown>) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool } });
    const headers = {
      authorization: `Bearer ${await issuer.token(claims)}`,
      'content-type': 'application/json',
    };
    const response = await handle(new Request(RESOURCE, { method: 'POST', headers, body }));
    const [challenge] = parseChallenges(response.headers.get('www-authenticate'));
    return { status: response.status, challenge: Object.fromEntries(challenge?.parameters ?? []) };
  };
}

const recent = { auth_time: NOW - 60 };
const insufficient = { error: 'insufficient_user_authentication' };

describe('an operation that demands authentication', () => {
  it('accepts a recent sign-in where one is demanded, and challenges an old or unknown one with max_age', async () => {
    const call = await open();
    expect((await call('transfer', recent)).status).toBe(200);
    expect((await call('transfer', { auth_time: NOW - 300 })).status).toBe(200);
    // The clocks of processes may differ by a minute.
    expect((await call('transfer', { auth_time: NOW + 60 })).status).toBe(200);
    for (const claims of [
      { auth_time: NOW - 306 },
      { auth_time: NOW + 61 },
      {},
      { auth_time: String(NOW) },
    ]) {
      const refused = await call('transfer', claims);
      expect(refused).toMatchObject({ status: 401, challenge: { ...insufficient, max_age: '300' } });
      expect(refused.challenge).not.toHaveProperty('acr_values');
    }
  });

  it('accepts two factors where they are demanded, and challenges others with acr_values', async () => {
    const call = await open();
    expect((await call('delete', { acr: '2fa' })).status).toBe(200);
    for (const claims of [{ acr: '1fa' }, {}, { acr: ['2fa'] }]) {
      expect(await call('delete', claims)).toMatchObject({
        status: 401,
        challenge: { ...insufficient, acr_values: '2fa', resource_metadata: expect.any(String) },
      });
    }
  });

  it('demands both at once, and nothing of other operations', async () => {
    const call = await open();
    const { challenge } = await call('both', { acr: '1fa', auth_time: NOW - 3600 });
    expect(challenge).toMatchObject({ ...insufficient, max_age: '60', acr_values: '2fa' });
    expect((await call('both', { acr: '2fa', ...recent })).status).toBe(200);
    expect((await call('read', {})).status).toBe(200);
  });

  it('asks for the scopes of a token that has enough, and for no other of the resource', async () => {
    const defaultScopes = ['notes:read', 'notes:write'];
    const call = await open({ defaultScopes, scopesFor: () => ['notes:read'] } as Partial<GuardOptions>);
    expect((await call('delete', { acr: '1fa' })).challenge).toMatchObject({
      ...insufficient,
      scope: 'notes:read',
    });
    expect((await call('delete', { acr: '2fa' })).status).toBe(200);
  });

  it('names missing scopes first: a sign-in would not help', async () => {
    const call = await open({ scopesFor: () => ['notes:delete'] });
    expect(await call('delete', {})).toMatchObject({
      status: 403,
      challenge: { error: 'insufficient_scope' },
    });
  });
});
