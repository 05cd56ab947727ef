/** Sender-constrained tokens: bound to a key (DPoP) or a certificate of the client (mutual TLS). */
import { createHash } from 'node:crypto';
import { findChallenge, parseChallenges } from '@portcullis/protocol';
import { beforeAll, describe, expect, it } from 'vitest';
import { createHolder, type Holder } from '../support/holder.ts';
import type { Received, Sent } from '../support/server.ts';
import { bearer, type Stage } from './stage.ts';

export function describeBoundTokens(stage: Stage): void {
  const { serve, expectRefusal } = stage;

  describe('a token that is bound to a key', () => {
    const dpop = { nonces: { secret: new Uint8Array(32).fill(1) } };
    let holder: Holder;
    let token: string;

    beforeAll(async () => {
      holder = await createHolder();
      token = await stage.issuer.token({ cnf: { jkt: holder.thumbprint } });
    });

    const sent = (...proofs: string[]): Sent => ({
      method: 'POST',
      headers: [
        ['authorization', `DPoP ${token}`],
        ['origin', 'https://app.example'],
        ...proofs.map((proof) => ['dpop', proof] as const),
      ],
    });

    function expectUnproven(response: Received, error: string): void {
      expect([response.status, response.json['error']]).toEqual([401, error]);
      const challenges = parseChallenges(response.headers.get('www-authenticate'));
      expect(findChallenge(challenges, 'DPoP')?.parameters.get('error')).toBe(error);
      expect(stage.reached).toEqual([]);
    }

    it('[X-DPOP-6 X-DPOP-10] accepts a DPoP-bound token once with a proof that contains the nonce of the challenge', async () => {
      const { send } = await serve({ dpop });
      const first = await send(sent(await holder.prove(token)));
      expectUnproven(first, 'use_dpop_nonce');
      const nonce = first.headers.get('dpop-nonce') ?? '';
      expect(first.headers.get('access-control-expose-headers')).toContain('DPoP-Nonce');
      const proof = await holder.prove(token, { nonce });
      const accepted = await send(sent(proof));
      expect([accepted.status, accepted.headers.get('dpop-nonce')]).toEqual([200, nonce]);
      expect(accepted.json['principal']).toMatchObject({ subject: 'alice' });
      expect(accepted.text).not.toContain(proof);
      expect(accepted.text).not.toContain(token);
      stage.forget();
      expectUnproven(await send(sent(proof)), 'invalid_dpop_proof');
    });

    it('[X-DPOP-6 X-DPOP-8 X-DPOP-9] rejects a DPoP-bound token without a proof, with two proofs, with the proof of another key, and as a bearer token', async () => {
      const { send } = await serve({ dpop: {} });
      const thief = await createHolder();
      expectUnproven(await send(sent()), 'invalid_dpop_proof');
      const two = await Promise.all([holder.prove(token), holder.prove(token)]);
      expectUnproven(await send(sent(...two)), 'invalid_dpop_proof');
      expectUnproven(await send(sent(await thief.prove(token))), 'invalid_dpop_proof');
      expectUnproven(await send(sent(await holder.prove(token, { htm: 'GET' }))), 'invalid_dpop_proof');
      expectRefusal(await send(bearer(token, ['dpop', await holder.prove(token)])), 401, 'invalid_token');
      expect((await send(sent(await holder.prove(token)))).status).toBe(200);
    });
  });

  it('accepts a certificate-bound token only with its certificate', async () => {
    const { send } = await serve({ certificates: { from: 'field' } });
    const [mine, foreign] = [Buffer.from('my certificate'), Buffer.from('another one')];
    const thumbprint = createHash('sha256').update(mine).digest('base64url');
    const token = await stage.issuer.token({ cnf: { 'x5t#S256': thumbprint } });
    const field = (der: Buffer) => ['client-cert', `:${der.toString('base64')}:`] as const;
    expectRefusal(await send(bearer(token)), 401, 'invalid_token');
    expectRefusal(await send(bearer(token, field(foreign))), 401, 'invalid_token');
    expect((await send(bearer(token, field(mine)))).status).toBe(200);
  });
}
