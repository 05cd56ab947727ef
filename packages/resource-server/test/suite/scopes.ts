/** Scopes of resources and operations. */
import { findChallenge, OAuthError, parseChallenges } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { NOW } from '../support/issuer.ts';
import { bearer, METADATA_PATH, type Options, type Stage } from './stage.ts';

export function describeScopes(stage: Stage): void {
  const { serve, expectRefusal } = stage;

  describe('scopes', () => {
    const scoped: Options = {
      scopes: ['files:read'],
      defaultScopes: ['files:read'],
      hierarchy: { admin: ['files:write'], 'files:write': ['files:read'] },
    };

    it.each([
      ['none', undefined],
      ['another', 'files:write2'],
      ['a longer one', 'files:readx'],
      ['a shorter one', 'files'],
      ['another case', 'FILES:READ'],
      ['a list that is glued', 'files:read,files:write'],
      ['a tab for a space', 'x\tfiles:read'],
    ])(
      '[S-403-20 S-403-21 S-403-22 S-403-23 S-403-24 S-BEAR-65 S-ERR-403 S-VAL-1] T096 rejects a token without the required scope: %s',
      async (_, scope) => {
        const { send } = await serve(scoped);
        const response = await send(bearer(await stage.issuer.token({ scope, scp: 'files:read' })));
        expectRefusal(response, 403, 'insufficient_scope');
        const challenge = findChallenge(parseChallenges(response.headers.get('www-authenticate')), 'Bearer');
        expect(challenge?.parameters.get('scope')).toBe('files:read');
        expect(challenge?.parameters.get('error_description')).not.toBe('');
        expect(response.json['scope']).toBe('files:read');
      },
    );

    it('T096 rejects a scope claim that is a list', async () => {
      const { send } = await serve(scoped);
      expectRefusal(
        await send(bearer(await stage.issuer.token({ scope: ['files:read'] }))),
        401,
        'invalid_token',
      );
    });

    it.each(['files:read', 'files:write', 'admin', 'other files:read'])(
      '[S-SCOPE-30 S-MIN-41] T096 accepts a token whose scopes include or imply the required one: %s',
      async (scope) => {
        const { send } = await serve(scoped);
        expect((await send(bearer(await stage.issuer.token({ scope })))).status).toBe(200);
      },
    );

    const byTool: Options = {
      scopes: ['base'],
      defaultScopes: ['base'],
      scopesFor: ({ method, tool, prompt, resource }) => {
        if (tool === 'delete_note') return ['notes:write', 'notes:delete'];
        if (tool !== null) return ['notes:write'];
        if (prompt !== null) return ['prompts'];
        return resource !== null ? ['files'] : method === 'tools/list' ? [] : ['other'];
      },
    };
    const call = (name: string): object => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name },
    });

    it.each([
      ['a tool', call('add_note'), 'base notes:write'],
      ['a tool that needs two', call('delete_note'), 'base notes:write notes:delete'],
      ['a prompt', { id: 1, method: 'prompts/get', params: { name: 'p' } }, 'base prompts'],
      ['a resource', { id: 1, method: 'resources/read', params: { uri: 'file:///x' } }, 'base files'],
      [
        'a batch',
        [call('add_note'), { method: 'resources/read', params: { uri: 'x' } }],
        'base notes:write files',
      ],
      ['a method', { method: 'server/discover' }, 'base other'],
    ])(
      '[S-403-22 S-403-26 S-403-30 S-403-31] names all scopes that %s requires at once',
      async (_, message, needed) => {
        const { send } = await serve(byTool);
        const body = JSON.stringify(message);
        const token = await stage.issuer.token({ scope: 'base' });
        const response = await send({ method: 'POST', body, ...bearer(token) });
        expectRefusal(response, 403, 'insufficient_scope');
        expect(response.json['scope']).toBe(needed);
        expect((await send({ method: 'POST', body, ...bearer(token) })).json['scope']).toBe(needed);
        const twin = await send({
          method: 'POST',
          body,
          ...bearer(await stage.issuer.token({ scope: needed })),
        });
        expect(twin.status).toBe(200);
        expect(twin.json['body']).toBe(body);
      },
    );

    it('[S-SCOPE-21 S-SCOPE-22 S-SCOPE-23] may require scopes beyond the initial ones that metadata and first challenge name', async () => {
      const { send } = await serve(byTool);
      const token = bearer(await stage.issuer.token({ scope: 'base' }));
      const { json } = await send({ method: 'POST', body: JSON.stringify(call('add_note')), ...token });
      expect(json['scope']).toBe('base notes:write');
      expect((await send({ path: METADATA_PATH })).json['scopes_supported']).toEqual(['base']);
      expect((await send({})).headers.get('www-authenticate')).toContain('scope="base"');
    });

    it('[S-MIN-42] logs required and granted scopes, and the token id', async () => {
      const { send } = await serve(byTool);
      const token = await stage.issuer.token({ scope: 'base', jti: 'the-token' });
      await send({ method: 'POST', body: JSON.stringify(call('add_note')), ...bearer(token) });
      expect(stage.events).toMatchObject([
        {
          type: 'scopes.missing',
          subject: 'alice',
          tokenId: 'the-token',
          needed: ['base', 'notes:write'],
          granted: ['base'],
        },
        { type: 'request.rejected', status: 403 },
      ]);
    });

    it('passes on a chunked body, byte for byte', async () => {
      const { send } = await serve(byTool);
      const body = JSON.stringify({ ...call('add_note'), padding: 'ü'.repeat(100_000) });
      const pieces = [body.slice(0, 10), body.slice(10, 70_000), body.slice(70_000)];
      const token = await stage.issuer.token({ scope: 'base notes:write' });
      const response = await send({ method: 'POST', body: pieces, ...bearer(token) });
      expect(response.status).toBe(200);
      expect(response.json['body']).toBe(body);
    });

    it.each([
      ['an empty body', ''],
      ['a response', '{"jsonrpc":"2.0","id":1,"result":{}}'],
      ['an empty batch', '[]'],
      ['a number', '42'],
    ])('passes %s to the application, since it contains no operation', async (_, body) => {
      const { send } = await serve(byTool);
      const response = await send({
        method: 'POST',
        body,
        ...bearer(await stage.issuer.token({ scope: 'base' })),
      });
      expect([response.status, response.json['body']]).toEqual([200, body]);
    });

    it('rejects a body that it cannot parse', async () => {
      const { send } = await serve(byTool);
      const token = bearer(await stage.issuer.token({ scope: 'base' }));
      for (const body of ['{"method":', '{"method":"x"}{}', 'method=tools/call']) {
        expectRefusal(await send({ method: 'POST', body, ...token }), 400, 'invalid_request');
      }
      for (const [name, value] of [
        ['content-type', 'application/json; charset=utf-7'],
        ['content-encoding', 'br'],
      ] as const) {
        const headers = [...(token.headers ?? []), [name, value] as const];
        const response = await send({ method: 'POST', body: '{}', headers });
        expect([response.status, response.json['error']]).toEqual([415, 'invalid_request']);
        expect(response.headers.has('www-authenticate')).toBe(false);
      }
      expect((await send({ method: 'GET', ...token })).status).toBe(200);
    });

    it('T096 rejects a tool name that is no string, which some servers convert to one', async () => {
      const { send } = await serve({ scopesFor: ({ tool }) => (tool === null ? [] : ['notes:write']) });
      const token = bearer(await stage.issuer.token({ scope: 'base' }));
      const post = (message: object) => send({ method: 'POST', body: JSON.stringify(message), ...token });
      for (const name of [['delete_note'], { toString: 'delete_note' }, 1, true, null, undefined])
        expectRefusal(await post({ id: 1, method: 'tools/call', params: { name } }), 400, 'invalid_request');
      expectRefusal(
        await post({ id: 1, method: ['tools/call'], params: { name: 'delete_note' } }),
        400,
        'invalid_request',
      );
      expectRefusal(await post(call('delete_note')), 403, 'insufficient_scope');
      expect((await post({ id: 1, method: 'tools/list', params: { name: ['delete_note'] } })).status).toBe(
        200,
      );
    });

    it('T096 rejects an escaped member name, which V8 takes for one that an earlier body made it expect', async () => {
      const { send } = await serve(byTool);
      const token = bearer(await stage.issuer.token({ scope: 'base' }));
      const post = (body: string) => send({ method: 'POST', body, ...token });
      // Behind `k`, of three members, this is the name that comes next: so V8 has learnt.
      for (let round = 0; round < 20; round += 1) JSON.parse('{"k":0,"\\\\u006d":1,"z":2}');
      const call = '"tools/call","params":{"name":"add_note"}';
      expectRefusal(await post(`{"k":0,"\\u006dethod":${call}}`), 400, 'invalid_request');
      expectRefusal(await post(`[{"k":0,"\\u006Dethod"\n:${call}}]`), 400, 'invalid_request');
      expectRefusal(await post(`{"k":0,"method":${call}}`), 403, 'insufficient_scope');
      const harmless = '{"k":0,"gr\\u00f6\\u00dfe":"\\u006dethod","\\"":1}';
      expect((await post(harmless)).json['body']).toBe(harmless);
    });

    it('T096 rejects a duplicate member, since parsers disagree which one counts', async () => {
      const { send } = await serve(byTool);
      const token = bearer(await stage.issuer.token({ scope: 'base' }));
      const post = (body: string) => send({ method: 'POST', body, ...token });
      for (const body of [
        '{"method":"tools/call","params":{"name":"add_note"},"method":"tools/list"}',
        '{"method":"tools/call","params":{"name":"add_note","name":"find_note"}}',
        `{"a":${'['.repeat(500)}${']'.repeat(500)}}`,
      ])
        expectRefusal(await post(body), 400, 'invalid_request');
      const once = `[{"method":"tools/list","params":{"a":{"method":1}}},{"method":"tools/list"},${'['.repeat(499)}${']'.repeat(499)}]`;
      expect((await post(once)).json['body']).toBe(once);
    });

    it('[ALL-HTTP-61] rejects a body beyond the limit', async () => {
      const { send } = await serve({ ...byTool, bodyLimit: 100 });
      const token = bearer(await stage.issuer.token({ scope: 'base' }));
      const response = await send({ method: 'POST', body: JSON.stringify('x'.repeat(200)), ...token });
      expect([response.status, response.json['error']]).toEqual([413, 'invalid_request']);
      expect(response.headers.get('www-authenticate')).toBeNull();
      expect(stage.reached).toEqual([]);
      expect((await send({ method: 'POST', body: '{}', ...token })).status).toBe(200);
    });

    it('[S-HTTP-33] verifies the token before reading the body', async () => {
      const { send } = await serve({ ...byTool, bodyLimit: 10 });
      expectRefusal(await send({ method: 'POST', body: '{"broken and long' }), 401, undefined);
      const expired = bearer(await stage.issuer.token({ exp: NOW - 100 }));
      expectRefusal(
        await send({ method: 'POST', body: '{"broken and long', ...expired }),
        401,
        'invalid_token',
      );
    });

    it('[S-403-20 S-MIN-40] converts a late OAuthError of the application to a challenge', async () => {
      const { send } = await serve({}, () => {
        throw new OAuthError('insufficient_scope', 'This note needs more.', { scopes: ['notes:own'] });
      });
      const response = await send(bearer(await stage.issuer.token()));
      stage.forget();
      expectRefusal(response, 403, 'insufficient_scope');
      expect(response.headers.get('www-authenticate')).toContain('scope="notes:own"');
    });
  });
}
