/** Failures of verifiers, keys and applications. */

import { describe, expect, it } from 'vitest';
import { ISSUER } from '../support/issuer.ts';
import type { Received } from '../support/server.ts';
import { bearer, echo, type Stage } from './stage.ts';

export function describeFailures(stage: Stage): void {
  const { serve } = stage;

  describe('when something fails', () => {
    it('[S-ERR-ALL] T098 a verifier that throws gives 503, and tells nobody why', async () => {
      const verifier = {
        issuers: [ISSUER],
        verify: () => {
          throw new Error('https://as.internal/jwks refused at Verifier (node:internal)');
        },
      };
      const { send } = await serve({ verifier });
      const response = await send(bearer(await stage.issuer.token()));
      expect([response.status, response.json['error']]).toEqual([503, 'temporarily_unavailable']);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(response.headers.get('www-authenticate')).toBeNull();
      expect(response.text).not.toMatch(/internal|jwks|Error/);
      expect(stage.reached).toEqual([]);
    });

    it('[S-JWT-64] T098 keys that cannot be had give 503, never 401 and never admission', async () => {
      const verifier = stage.issuer.verifier({ jwks: () => Promise.reject(new Error('down')) });
      const { send } = await serve({ verifier });
      const response = await send(bearer(await stage.issuer.token()));
      expect([response.status, response.json['error']]).toEqual([503, 'temporarily_unavailable']);
      expect((await send({})).status).toBe(401);
      expect(stage.reached).toEqual([]);
    });

    it('T098 a status that cannot be asked for gives 503', async () => {
      const isLive = (): Promise<boolean> => Promise.reject(new Error('store is down'));
      const { send } = await serve({ verifier: stage.issuer.verifier({ isLive }) });
      const response = await send(bearer(await stage.issuer.token()));
      expect([response.status, response.json['error']]).toEqual([503, 'temporarily_unavailable']);
      expect(stage.reached).toEqual([]);
    });

    it('[ALL-HTTP-61] an application rule that throws gives 500 without details, and the log the cause', async () => {
      const cause = new Error('secret detail');
      const { send } = await serve({
        scopesFor: () => {
          throw cause;
        },
      });
      const response = await send({
        method: 'POST',
        body: '{"method":"x"}',
        ...bearer(await stage.issuer.token()),
      });
      expect([response.status, response.json['error']]).toEqual([500, 'server_error']);
      expect(response.text).not.toContain('secret detail');
      expect(stage.events).toMatchObject([{ type: 'request.failed', cause }]);
      expect(stage.reached).toEqual([]);
    });

    it('T098 an application that throws ends its own request alone', async () => {
      const cause = new Error('mine');
      let isBroken = true;
      const { send } = await serve({}, (seen) => {
        if (isBroken) throw cause;
        return echo(seen);
      });
      const sent = bearer(await stage.issuer.token());
      // Where nobody but the caller could answer, the caller gets the error.
      const ended = await send(sent).catch((error: unknown) => error);
      expect(ended === cause || (ended as Received).status === 500).toBe(true);
      isBroken = false;
      expect((await send(sent)).status).toBe(200);
    });

    it('T097 a rule that names no proper scope gives 500, and no broken challenge', async () => {
      const { send } = await serve({ scopesFor: () => ['a", error="x'] });
      const response = await send({
        method: 'POST',
        body: '{"method":"x"}',
        ...bearer(await stage.issuer.token()),
      });
      expect(response.status).toBe(500);
      expect(response.headers.get('www-authenticate')).toBeNull();
      expect(stage.reached).toEqual([]);
    });
  });
}
