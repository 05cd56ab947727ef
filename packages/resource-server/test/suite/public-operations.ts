/** Public operations: requests without a token, and that neither a bad token nor a missing scope becomes one. */
import { describe, expect, it } from 'vitest';
import { isAnonymous } from '../../src/index.ts';
import { NOW } from '../support/issuer.ts';
import { bearer, echo, type Options, type Stage } from './stage.ts';

export function describePublicOperations(stage: Stage): void {
  const { serve, expectRefusal } = stage;

  describe('public operations', () => {
    const shop: Options = {
      publicOperations: true,
      scopesFor: ({ method, tool }) => {
        if (tool === null) return method === 'tools/list' ? 'public' : [];
        return tool === 'search' ? 'public' : ['shop:buy'];
      },
    };
    const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });
    const post = (message: unknown) => ({ method: 'POST', body: JSON.stringify(message) });

    it.each([
      ['initialize', { jsonrpc: '2.0', id: 1, method: 'initialize' }],
      ['ping', { jsonrpc: '2.0', id: 1, method: 'ping' }],
      ['a notification about the session', { jsonrpc: '2.0', method: 'notifications/initialized' }],
      ['a list', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
      ['a tool', call('search')],
      ['a batch of them', [call('search'), { jsonrpc: '2.0', id: 2, method: 'ping' }]],
      ['a response', { jsonrpc: '2.0', id: 1, result: {} }],
    ])(
      'are served without a token, with a principal that has no subject and no scope: %s',
      async (_, message) => {
        let anonymous = false;
        const { send } = await serve(shop, (seen) => {
          anonymous = isAnonymous(seen.principal);
          return echo(seen);
        });
        const { status, json } = await send(post(message));
        expect([status, json['body'], anonymous]).toEqual([200, JSON.stringify(message), true]);
        expect(json['principal']).toMatchObject({ subject: '', clientId: '', scopes: [], groups: [] });
      },
    );

    it('are served with a token as well, without any scope', async () => {
      const { send } = await serve(shop);
      const token = bearer(await stage.issuer.token({ scope: '' }));
      const { status, json } = await send({ ...post(call('search')), ...token });
      expect([status, Object(json['principal']).subject]).toEqual([200, 'alice']);
    });

    it.each([
      ['another tool', call('buy')],
      ['another method', { jsonrpc: '2.0', id: 1, method: 'resources/list' }],
      ['a batch with another tool', [call('search'), call('buy')]],
    ])('are not %s, which gets the challenge without a token', async (_, message) => {
      const { send } = await serve(shop);
      expectRefusal(await send(post(message)), 401, undefined);
      const token = bearer(await stage.issuer.token({ scope: 'shop:buy' }));
      expect((await send({ ...post(message), ...token })).status).toBe(200);
    });

    it('refuse a token with too few scopes for another tool, and never take it for no token', async () => {
      const { send } = await serve(shop);
      const token = bearer(await stage.issuer.token({ scope: 'other' }));
      expectRefusal(await send({ ...post(call('buy')), ...token }), 403, 'insufficient_scope');
    });

    it('refuse a token that is not valid', async () => {
      const { send } = await serve(shop);
      const expired = bearer(await stage.issuer.token({ exp: NOW - 100 }));
      expectRefusal(await send({ ...post(call('search')), ...expired }), 401, 'invalid_token');
      for (const authorization of ['Basic YTpi', 'DPoP x'])
        expectRefusal(
          await send({ ...post(call('search')), headers: [['authorization', authorization]] }),
          401,
          undefined,
        );
    });

    it('include streams and the end of a session', async () => {
      const { send } = await serve(shop);
      expect((await send({ method: 'GET' })).status).toBe(200);
      expect((await send({ method: 'DELETE' })).status).toBe(200);
    });

    it('are none where a sign-in of a kind is demanded', async () => {
      const demanding: Options = {
        ...shop,
        authenticationFor: ({ tool }) => (tool === 'search' ? { maxAge: 60 } : null),
      };
      expectRefusal(await (await serve(demanding)).send(post(call('search'))), 401, undefined);
    });

    it('are none where the resource needs a scope of every request', async () => {
      const { send } = await serve({ ...shop, scopes: ['base'], defaultScopes: ['notes:read'] });
      expect((await send(post(call('search')))).status).toBe(401);
      expect(stage.reached).toEqual([]);
    });

    it('are none without the option, whatever scopesFor returns, and the body is not read', async () => {
      const { send } = await serve({ ...shop, publicOperations: false, bodyLimit: 10 });
      expectRefusal(await send(post(call('search'))), 401, undefined);
    });

    it('refuse a body that cannot be read', async () => {
      const { send } = await serve({ ...shop, bodyLimit: 100 });
      expectRefusal(await send({ method: 'POST', body: '{"method":' }), 400, 'invalid_request');
      expect((await send(post('x'.repeat(200)))).status).toBe(413);
      expect(stage.reached).toEqual([]);
    });

    it('are left to the application without scopesFor', async () => {
      const { send } = await serve({ publicOperations: true });
      expect((await send(post(call('buy')))).status).toBe(200);
    });
  });
}
