/** Handles and sessions: isolation between principals. */
import { describe, expect, it } from 'vitest';
import { createHandleTable, createSignedHandles } from '../../src/index.ts';
import type { Application, Received } from '../support/server.ts';
import { bearer, echo, type Stage } from './stage.ts';

export function describeHandles(stage: Stage): void {
  const { serve, expectRefusal } = stage;

  describe('handles', () => {
    /** Creates a handle, or resolves one: from a table of this process, or signed. */
    function keeping(): Application {
      const table = createHandleTable<string>();
      const signer = createSignedHandles(new Uint8Array(32).fill(3));
      return async ({ body, principal }) => {
        const { open, find, signed } = JSON.parse(body);
        const json = (status: number, value: unknown) => ({ status, body: JSON.stringify(value) });
        if (open !== undefined)
          return json(200, {
            find: table.create(principal, open),
            signed: await signer.sign(principal, open),
          });
        const found =
          signed === undefined ? table.find(principal, find) : await signer.verify(principal, signed);
        return found ? json(200, { found }) : json(404, {});
      };
    }

    it.each([
      ['another user with the same client', { sub: 'bob' }],
      ['the same user with another client', { client_id: 'other' }],
    ])(
      '[S-SESS-42] T101 resolves handles for the principal that created them, and not for %s',
      async (_, claims) => {
        const { send } = await serve({}, keeping());
        const [hers, theirs] = await Promise.all([stage.issuer.token(), stage.issuer.token(claims)]);
        const post = (token: string, body: unknown): Promise<Received> =>
          send({ method: 'POST', body: JSON.stringify(body), ...bearer(token) });
        const { find, signed } = JSON.parse((await post(hers, { open: 'her notes' })).text);
        for (const handle of [{ find }, { signed }]) {
          const stolen = await post(theirs, handle);
          expect([stolen.status, stolen.text]).toEqual([404, '{}']);
          const own = await post(hers, handle);
          expect([own.status, JSON.parse(own.text)]).toEqual([200, { found: 'her notes' }]);
        }
      },
    );
  });

  it('T102 keeps 100 interleaved requests of two users apart', async () => {
    const { send } = await serve({}, async (seen) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      return echo(seen);
    });
    const tokens = await Promise.all(['alice', 'bob'].map((sub) => stage.issuer.token({ sub })));
    const responses = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const who = index % 2;
        const response = await send({ method: 'POST', body: `"${index}"`, ...bearer(tokens[who] ?? '') });
        return [who, index, response.json] as const;
      }),
    );
    for (const [who, index, json] of responses) {
      expect(json).toMatchObject({ body: `"${index}"`, principal: { subject: ['alice', 'bob'][who] } });
    }
  });

  it('[S-SESS-40] requires a token although the request names a session', async () => {
    const { send } = await serve();
    const session = ['mcp-session-id', 'a-session'] as const;
    expect((await send(bearer(await stage.issuer.token(), session))).status).toBe(200);
    stage.forget();
    expectRefusal(await send({ headers: [session] }), 401, undefined);
  });
}
