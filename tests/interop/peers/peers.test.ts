/** Authorization servers of others with our client, guard and command line, and a client of others with our authorization server. */
import { describe, expect, it } from 'vitest';
import { openStage } from '../../../packages/client/test/support/oidc-provider.ts';
import { owner } from '../../support/portcullis.ts';
import { startPortcullisHere } from '../../support/portcullis-here.ts';
import { createUser } from '../../support/user.ts';
import { visit } from '../../support/visit.ts';
import { callTool } from '../tools.ts';
import { answers, startBetterAuth } from './better-auth.ts';
import { startFastMcp } from './fastmcp.ts';
import { type AccessToken, signInWithSimpleOAuth2, web } from './simple-oauth2.ts';
import { closeAfterTest, createProgram, HOUR, loginByDevice, missing } from './stage.ts';
import { startWorker } from './workers-oauth-provider.ts';

it('login --device signs in at oidc-provider', async () => {
  const { serverUrl, origin, asked } = await openStage({ deviceFlow: { enabled: true } });
  const session = await loginByDevice(serverUrl, { answers: { login: 'ada' } });
  expect(session).toMatchObject({ server: serverUrl, issuer: origin, refreshable: true });
  expect(asked).toEqual(['urn:ietf:params:oauth:grant-type:device_code']);
});

describe.skipIf(missing)('with packages that are installed on demand', () => {
  it('the client signs in at better-auth, calls, refreshes and signs out', async () => {
    const serverUrl = `${await startBetterAuth()}/mcp`;
    const { client, advance, grants, accessToken, refresh } = createProgram(serverUrl, (url) =>
      visit(url, { answers }),
    );
    const scopes = ['notes:read', 'offline_access'];
    expect(await (await client.fetch(serverUrl)).json()).toMatchObject({ result: { scopes } });
    advance(HOUR);
    expect((await client.fetch(serverUrl)).status).toBe(200);
    expect(grants()).toEqual(['authorization_code', 'refresh_token']);

    expect(await client.signOut()).toBe('revoked');
    expect(await refresh()).toBe('invalid_grant');
    // Its access tokens are JWTs that it cannot revoke.
    const headers = { authorization: `Bearer ${accessToken()}` };
    expect((await fetch(serverUrl, { headers })).status).toBe(200);
  });

  it('login --device signs in at better-auth', async () => {
    const origin = await startBetterAuth();
    const session = await loginByDevice(`${origin}/mcp`, { answers });
    expect(session).toMatchObject({ issuer: `${origin}/api/auth`, refreshable: true });
  });

  it('the client signs in at workers-oauth-provider, calls, refreshes and signs out', async () => {
    const serverUrl = `${await startWorker()}/mcp`;
    const { client, advance, grants, accessToken, refresh } = createProgram(serverUrl, visit);
    expect(await (await client.fetch(serverUrl)).json()).toMatchObject({
      result: { user: 'ada', scope: ['notes:read'] },
    });
    advance(HOUR);
    expect((await client.fetch(serverUrl)).status).toBe(200);
    expect(grants()).toEqual(['authorization_code', 'refresh_token']);

    expect(await client.signOut()).toBe('revoked');
    const headers = { authorization: `Bearer ${accessToken()}` };
    expect((await fetch(serverUrl, { headers })).status).toBe(401);
    expect(await refresh()).toBe('invalid_grant');
  });

  it('the client signs in at the OAuth proxy of fastmcp, calls, refreshes and signs out', async () => {
    const origin = await startFastMcp();
    const user = createUser(owner);
    const { client, advance, grants } = createProgram(`${origin}/mcp`, async (url) => {
      const upstream = await visit(url, { answers: { action: 'approve' } });
      const callback = await user.authorize(upstream);
      return visit(callback.href);
    });
    const call = () => client.fetch(`${origin}/mcp`, { method: 'POST', ...callTool('whoami') });
    expect(await (await call()).text()).toContain('notes:read');
    advance(HOUR);
    expect((await call()).status).toBe(200);
    expect(grants()).toEqual(['authorization_code', 'refresh_token']);
    expect(await client.session()).toMatchObject({ issuer: origin, scopes: ['notes:read'] });
    // It has no revocation endpoint.
    expect(await client.signOut()).toBe('forgotten');
  });

  it('simple-oauth2 signs a user in, calls, refreshes and revokes each token', async () => {
    const server = await startPortcullisHere({ clients: [web] });
    closeAfterTest(() => server.stop());
    const call = async ({ token }: AccessToken) => {
      const { headers, body } = callTool('list_notes');
      headers.set('authorization', `Bearer ${token.access_token}`);
      return (await fetch(server.resource, { method: 'POST', headers, body })).status;
    };
    const first = await signInWithSimpleOAuth2(server, createUser(owner));
    const second = await first.refresh();
    expect([await call(first), await call(second)]).toEqual([200, 200]);
    await second.revoke('access_token');
    expect(await call(second)).toBe(401);

    const third = await second.refresh();
    expect(await call(third)).toBe(200);
    await third.revokeAll();
    expect(await call(third)).toBe(401);
    await expect(third.refresh()).rejects.toThrow('400');
  });
});
