/** Failures of verifiers, keys and applications. */
import { describe, expect, it } from 'vitest';
import { ISSUER } from '../support/issuer.ts';
import type { Received } from '../support/server.ts';
import { bearer, echo, type Stage } from './stage.ts';

export function describeFailures(stage: Stage): void {
  const { serve } = stage;

  describe('when something fails', () => {
    it('[S-ERR-ALL] T098 responds 503 without the reason if a verifier throws', async () => {
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

    it('[S-JWT-64] T098 responds 503, never 401 or 200, if the keys are unavailable', async () => {
      const verifier = stage.issuer.verifier({ jwks: () => Promise.reject(new Error('down')) });
      const { send } = await serve({ verifier });
      const response = await send(bearer(await stage.issuer.token()));
      expect([response.status, response.json['error']]).toEqual([503, 'temporarily_unavailable']);
      expect((await send({})).status).toBe(401);
      expect(stage.reached).toEqual([]);
    });

    it('T098 responds 503 if the revocation check fails', async () => {
      const isLive = (): Promise<boolean> => Promise.reject(new Error('store is down'));
      const { send } = await serve({ verifier: stage.issuer.verifier({ isLive }) });
      const response = await send(bearer(await stage.issuer.token()));
      expect([response.status, response.json['error']]).toEqual([503, 'temporarily_unavailable']);
      expect(stage.reached).toEqual([]);
    });

    it('[ALL-HTTP-61] responds 500 without details if scopesFor throws, and reports the cause as an event', async () => {
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

    it('T098 serves other requests after an application that throws', async () => {
      const cause = new Error('mine');
      let isBroken = true;
      const { send } = await serve({}, (seen) => {
        if (isBroken) throw cause;
        return echo(seen);
      });
      const sent = bearer(await stage.issuer.token());
      // Without an error handler of a framework, the caller gets the error.
      const ended = await send(sent).catch((error: unknown) => error);
      expect(ended === cause || (ended as Received).status === 500).toBe(true);
      isBroken = false;
      expect((await send(sent)).status).toBe(200);
    });

    it('T097 responds 500 without a malformed challenge if scopesFor returns a malformed scope', async () => {
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
