/** Requests without a token. */
import { describe, expect, it } from 'vitest';
import { bearer, METADATA, METADATA_PATH, type Stage } from './stage.ts';

export function describeWithoutToken(stage: Stage): void {
  const { serve, expectRefusal } = stage;

  describe('without a token', () => {
    const title =
      '[S-401-1 S-401-2 S-401-3 S-FLOW-B1 S-GEN-1 S-PRM-20 S-SCOPE-20 S-ERR-401 S-ERR-401B S-BEAR-66] ' +
      'challenges every method, and names the metadata URL';
    it.each(['GET', 'POST', 'DELETE', 'PUT', 'OPTIONS'])(`${title}: %s`, async (method) => {
      const { send } = await serve();
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      const sent = { method, ...(method === 'POST' && { body }) };
      const response = await send(sent);
      expectRefusal(response, 401, undefined);
      expect(response.headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="${METADATA}", scope="notes:read"`,
      );
      expect(response.json['resource_metadata']).toBe(METADATA);
      expect((await send({ path: METADATA_PATH })).status).toBe(200);

      const twin = await send({ ...sent, ...bearer(await stage.issuer.token()) });
      expect(twin.status).toBe(200);
      expect(stage.reached).toEqual([`${method} alice`]);
    });

    it('[S-BEAR-63] sends a challenge without an error to a request without a token, also for another scheme', async () => {
      const { send } = await serve();
      const response = await send({ headers: [['authorization', 'Basic YWxpY2U6c2VjcmV0']] });
      expectRefusal(response, 401, undefined);
      expect(response.headers.get('www-authenticate')).not.toContain('error');
    });

    it('[S-SCOPE-22 S-REFRESH-30] challenges the same way each time, and never asks for offline_access', async () => {
      const { send } = await serve();
      const first = (await send({})).headers.get('www-authenticate');
      expect((await send({})).headers.get('www-authenticate')).toBe(first);
      expect(first).not.toContain('offline_access');
    });

    it('responds to HEAD without a token as to GET, without a body', async () => {
      const { send } = await serve();
      const response = await send({ method: 'HEAD' });
      expect([response.status, response.text]).toEqual([401, '']);
      expect(response.headers.get('www-authenticate')).toContain(METADATA);
    });
  });
}
