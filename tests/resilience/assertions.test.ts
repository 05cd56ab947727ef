/** Thirty at once for one ID-JAG, and for one DPoP proof, on three server processes: one is served. */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { startOrganization } from '../support/organization.ts';
import { kinds } from './places.ts';
import { type Answer, type AtEnd, type ServerProcess, send, startProcess } from './servers.ts';
import { TIMEOUT } from './sizes.ts';
import { credentialsOf, ISSUER, NOTES } from './world.ts';

const RACERS = 30;
const ROUNDS = 5;
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

async function setScene(kind: (typeof kinds)[0], atEnd: AtEnd) {
  const organization = await startOrganization();
  atEnd(() => organization.stop());
  const place = await kind.make(atEnd);
  const start = () => startProcess(place.location, atEnd, 5, `organization=${organization.issuer}`);
  const servers = await Promise.all([start(), start(), start()]);
  const assertion = () =>
    organization.sign({ sub: 'ada-at-acme', aud: ISSUER, client_id: 'agent', resource: NOTES });
  const redeem = (server: ServerProcess, text: string, headers = {}) =>
    send(server, '/token', {
      headers,
      form: { grant_type: GRANT, assertion: text, ...credentialsOf('agent') },
    });
  /** In turn to each server. */
  const race = (run: (server: ServerProcess, index: number) => Promise<Answer>) =>
    Promise.all(
      Array.from({ length: RACERS }, (_, index) =>
        run(servers[index % servers.length] as ServerProcess, index),
      ),
    );
  return { place, servers, assertion, redeem, race };
}

function outcomesOf(answers: readonly Answer[]): readonly string[] {
  return answers.map(({ status, body }) => `${status} ${body['error'] ?? body['token_type']}`).toSorted();
}

describe.concurrent.each(kinds)('$name, three processes', (kind) => {
  it(
    '[X-EMA-16, X-DPOP-14] of concurrent requests with one ID-JAG or with one DPoP proof, one is served, and the user has one grant',
    async ({ onTestFinished: atEnd }) => {
      const { place, assertion, redeem, race } = await setScene(kind, atEnd);
      for (let round = 0; round < ROUNDS; round += 1) {
        const text = await assertion();
        const outcomes = outcomesOf(await race((server) => redeem(server, text)));
        expect(outcomes).toEqual(['200 Bearer', ...Array(RACERS - 1).fill('400 invalid_grant')]);
      }
      // The first account, and that of the user.
      for (const [table, count] of [
        ['grants', 1],
        ['accounts', 2],
      ] as const) {
        const [row] = await place.ask(`SELECT count(*) AS count FROM ${table}`);
        expect(Number(row?.['count'])).toBe(count);
      }

      const { privateKey, publicKey } = await generateKeyPair('ES256');
      const jwk = await exportJWK(publicKey);
      for (let round = 0; round < ROUNDS; round += 1) {
        // Each with an ID-JAG of its own.
        const texts = await Promise.all(Array.from({ length: RACERS }, assertion));
        const dpop = await new SignJWT({ htm: 'POST', htu: `${ISSUER}/token`, jti: crypto.randomUUID() })
          .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk })
          .setIssuedAt()
          .sign(privateKey);
        const answers = await race((server, index) => redeem(server, texts[index] ?? '', { dpop }));
        expect(outcomesOf(answers)).toEqual([
          '200 DPoP',
          ...Array(RACERS - 1).fill('400 invalid_dpop_proof'),
        ]);
        const token = String(answers.find(({ status }) => status === 200)?.body['access_token']);
        const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
        expect(claims).toMatchObject({ cnf: { jkt: await calculateJwkThumbprint(jwk) } });
      }
    },
    TIMEOUT,
  );
});
