/** Handles, sessions and people who must be kept apart. */

import { describe, expect, it } from 'vitest';
import { createHandleTable, createSignedHandles } from '../../src/index.ts';
import type { Application, Received } from '../support/server.ts';
import { bearer, echo, type Stage } from './stage.ts';

export function describeHandles(stage: Stage): void {
  const { serve, expectRefusal } = stage;

  describe('handles', () => {
    /** Opens a handle, or finds what stands behind one: in a table of this process, and sealed. */
    function keeping(): Application {
      const table = createHandleTable<string>();
      const seal = createSignedHandles(new Uint8Array(32).fill(3));
      return async ({ body, principal }) => {
        const { open, find, sealed } = JSON.parse(body);
        const json = (status: number, value: unknown) => ({ status, body: JSON.stringify(value) });
        if (open !== undefined)
          return json(200, { find: table.create(principal, open), sealed: await seal.sign(principal, open) });
        const found =
          sealed === undefined ? table.find(principal, find) : await seal.verify(principal, sealed);
        return found ? json(200, { found }) : json(404, {});
      };
    }

    it.each([
      ['another person by the same client', { sub: 'bob' }],
      ['the same person by another client', { client_id: 'other' }],
    ])(
      '[S-SESS-42] T101 are found for the principal that created them, and not for %s',
      async (_, claims) => {
        const { send } = await serve({}, keeping());
        const [hers, theirs] = await Promise.all([stage.issuer.token(), stage.issuer.token(claims)]);
        const post = (token: string, body: unknown): Promise<Received> =>
          send({ method: 'POST', body: JSON.stringify(body), ...bearer(token) });
        const { find, sealed } = JSON.parse((await post(hers, { open: 'her notes' })).text);
        for (const handle of [{ find }, { sealed }]) {
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
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const who = index % 2;
        const response = await send({ method: 'POST', body: `"${index}"`, ...bearer(tokens[who] ?? '') });
        return [who, index, response.json] as const;
      }),
    );
    for (const [who, index, json] of answers) {
      expect(json).toMatchObject({ body: `"${index}"`, principal: { subject: ['alice', 'bob'][who] } });
    }
  });

  it('[S-SESS-40] requires a token although a session is named', async () => {
    const { send } = await serve();
    const session = ['mcp-session-id', 'a-session'] as const;
    expect((await send(bearer(await stage.issuer.token(), session))).status).toBe(200);
    stage.forget();
    expectRefusal(await send({ headers: [session] }), 401, undefined);
  });
}
