/** Where and how a request may carry its token. */
import { describe, expect, it } from 'vitest';
import { ISSUER, NOW, RESOURCE } from '../support/issuer.ts';
import { bearer, type Stage } from './stage.ts';

export function describePresenting(stage: Stage): void {
  const { serve, expectRefusal } = stage;

  describe('presenting a token', () => {
    it('[S-ROLE-2 S-VAL-1 S-AUD-1 S-JWT-62] accepts a valid token, and passes the principal to the application', async () => {
      const { send } = await serve();
      const response = await send(
        bearer(await stage.issuer.token({ aud: [RESOURCE], extra: { deep: [1] } })),
      );
      expect(response.status).toBe(200);
      expect(response.json['principal']).toMatchObject({
        issuer: ISSUER,
        subject: 'alice',
        clientId: 'notes-app',
        scopes: ['notes:read'],
        resource: RESOURCE,
        grantId: 'grant-1',
        expiresAt: NOW + 600,
        claims: { extra: { deep: [1] }, aud: [RESOURCE] },
      });
    });

    it('[S-AUD-4] removes the token from the request, in whatever form the application reads the headers', async () => {
      const { send } = await serve();
      const token = await stage.issuer.token();
      for (const _ of ['verified', 'cached']) {
        const response = await send(bearer(token, ['dpop', 'a-proof'], ['x-mine', 'kept']));
        expect(response.status).toBe(200);
        expect(response.text).not.toContain(token);
        expect(response.text).not.toContain('a-proof');
        expect(response.json['fields']).toContain('kept');
      }
    });

    it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer ', 'Bearer   '])(
      '[S-BEAR-60 C-TOK-4] accepts the authentication scheme in any case, with any number of spaces: "%s"',
      async (scheme) => {
        const { send } = await serve();
        const response = await send({
          headers: [['authorization', `${scheme} ${await stage.issuer.token()}`]],
        });
        expect(response.status).toBe(200);
      },
    );

    it('[S-BEAR-61 C-TOK-3] ignores tokens in the query and in form bodies', async () => {
      const { send } = await serve();
      const token = await stage.issuer.token();
      expectRefusal(await send({ path: `/mcp?access_token=${token}` }), 401, undefined);
      expectRefusal(await send({ path: `/mcp?%61ccess_token=${token}` }), 401, undefined);
      const form = { method: 'POST', body: `access_token=${token}` };
      const type = ['content-type', 'application/x-www-form-urlencoded'] as const;
      expectRefusal(await send({ ...form, headers: [type] }), 401, undefined);
    });

    it('[S-BEAR-62 S-ERR-400] rejects a request with two tokens as invalid_request', async () => {
      const { send } = await serve();
      const token = await stage.issuer.token();
      const twice = [
        ['authorization', `Bearer ${token}`],
        ['authorization', `Bearer ${token}`],
      ] as const;
      expectRefusal(await send({ headers: twice }), 400, 'invalid_request');
      expectRefusal(
        await send({ ...bearer(token), path: `/mcp?access_token=${token}` }),
        400,
        'invalid_request',
      );
      expect((await send({ ...bearer(token), path: '/mcp?access=1' })).status).toBe(200);
    });

    it.each([
      ['no token at all', 'Bearer'],
      ['two words', 'Bearer one two'],
      ['two tokens in a list', 'Bearer one, Bearer two'],
      ['a parameter', 'Bearer token="abc"x y'],
    ])(
      '[S-ERR-400 S-BEAR-67] rejects a malformed Authorization header as invalid_request: %s',
      async (_, authorization) => {
        const { send } = await serve();
        expectRefusal(await send({ headers: [['authorization', authorization]] }), 400, 'invalid_request');
      },
    );
  });
}
