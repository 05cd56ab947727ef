/** What holds behind every adapter: the shared suite that each of them must pass. */
import { createHash } from 'node:crypto';
import { findChallenge, OAuthError, parseChallenges, profileA, profileB } from '@portcullis/protocol';
import { base64url, exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  createGuard,
  createHandleSeal,
  createHandleTable,
  type GuardEvent,
  type GuardOptions,
  type ResourceOptions,
} from '../src/index.ts';
import { createHolder, type Holder } from './support/holder.ts';
import { createIssuer, goodClaims, ISSUER, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';
import type { Application, Received, Sent, Start, Started } from './support/server.ts';

const METADATA = 'https://api.example/.well-known/oauth-protected-resource/mcp';
const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

/** Only that much is said of a protected server; the rest is set by the suite. */
type Options = Partial<Omit<GuardOptions, 'resources'> & ResourceOptions> & {
  readonly resources?: readonly ResourceOptions[];
};

export function describeAdapter(name: string, start: Start): void {
  describe(`behind ${name}`, () => {
    let issuer: TestIssuer;
    let started: Started | undefined;
    /** Requests that reached the application: the state that a refusal must leave alone. */
    let reached: string[] = [];
    let events: GuardEvent[] = [];

    beforeAll(async () => {
      issuer = await createIssuer();
    });

    afterEach(async () => {
      await started?.close();
      started = undefined;
      reached = [];
      events = [];
    });

    async function serve(options: Options = {}, application: Application = echo): Promise<Started> {
      const guard = createGuard({
        ...(options.resources === undefined && { resource: RESOURCE, defaultScopes: ['notes:read'] }),
        verifier: issuer.verifier(),
        clock: () => NOW,
        events: (event) => events.push(event),
        ...options,
      } as GuardOptions);
      started = await start(guard, async (seen) => {
        reached.push(`${seen.method} ${seen.principal.subject}`);
        return application(seen);
      });
      return started;
    }

    const echo: Application = ({ method, body, principal, fields }) => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ method, body, principal, fields }),
    });

    const bearer = (token: string, ...more: Sent['headers'] & object): Sent => ({
      headers: [['authorization', `Bearer ${token}`], ...more],
    });

    function expectRefusal(response: Received, status: number, error: string | undefined): void {
      expect(response.status).toBe(status);
      expect(response.json['error']).toBe(error);
      expect(reached).toEqual([]);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.text).not.toMatch(/at \w+ \(|node:|\.ts:/);
      const [challenge, ...others] = parseChallenges(response.headers.get('www-authenticate'));
      expect(others).toEqual([]);
      expect(challenge?.scheme).toBe('Bearer');
      expect(challenge?.parameters.get('error')).toBe(error);
      expect(challenge?.parameters.get('resource_metadata')).toBe(METADATA);
    }

    describe('without a token', () => {
      const title =
        '[S-401-1 S-401-2 S-401-3 S-FLOW-B1 S-GEN-1 S-PRM-20 S-SCOPE-20 S-ERR-401 S-ERR-401B S-BEAR-66] ' +
        'challenges every method, and says where the metadata stands';
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

        const twin = await send({ ...sent, ...bearer(await issuer.token()) });
        expect(twin.status).toBe(200);
        expect(reached).toEqual([`${method} alice`]);
      });

      it('[S-BEAR-63] says nothing of errors, also to a scheme that carries no token', async () => {
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

      it('answers HEAD as GET, without a body', async () => {
        const { send } = await serve();
        const response = await send({ method: 'HEAD' });
        expect([response.status, response.text]).toEqual([401, '']);
        expect(response.headers.get('www-authenticate')).toContain(METADATA);
      });
    });

    describe('presenting a token', () => {
      it('[S-ROLE-2 S-VAL-1 S-AUD-1 S-JWT-62] admits a good one, and tells the application on whose behalf', async () => {
        const { send } = await serve();
        const response = await send(bearer(await issuer.token({ aud: [RESOURCE], extra: { deep: [1] } })));
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

      it('[S-AUD-4] keeps the token from the application, in whatever form it reads its fields', async () => {
        const { send } = await serve();
        const token = await issuer.token();
        for (const _ of ['first seen', 'remembered']) {
          const response = await send(bearer(token, ['dpop', 'a-proof'], ['x-mine', 'kept']));
          expect(response.status).toBe(200);
          expect(response.text).not.toContain(token);
          expect(response.text).not.toContain('a-proof');
          expect(response.json['fields']).toContain('kept');
        }
      });

      it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer ', 'Bearer   '])(
        '[S-BEAR-60 C-TOK-4] takes the scheme in any case, with any number of spaces: "%s"',
        async (scheme) => {
          const { send } = await serve();
          const response = await send({ headers: [['authorization', `${scheme} ${await issuer.token()}`]] });
          expect(response.status).toBe(200);
        },
      );

      it('[S-BEAR-61 C-TOK-3] takes none from the query or from a form: as if it were absent', async () => {
        const { send } = await serve();
        const token = await issuer.token();
        expectRefusal(await send({ path: `/mcp?access_token=${token}` }), 401, undefined);
        expectRefusal(await send({ path: `/mcp?%61ccess_token=${token}` }), 401, undefined);
        const form = { method: 'POST', body: `access_token=${token}` };
        const type = ['content-type', 'application/x-www-form-urlencoded'] as const;
        expectRefusal(await send({ ...form, headers: [type] }), 401, undefined);
      });

      it('[S-BEAR-62 S-ERR-400] refuses two of them as a bad request', async () => {
        const { send } = await serve();
        const token = await issuer.token();
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
        '[S-ERR-400 S-BEAR-67] refuses a malformed header as a bad request: %s',
        async (_, authorization) => {
          const { send } = await serve();
          expectRefusal(await send({ headers: [['authorization', authorization]] }), 400, 'invalid_request');
        },
      );
    });

    describe('a bad token', () => {
      const refused = (
        rows: readonly (readonly [string, () => string | Promise<string>])[],
        title: string,
      ): void => {
        it.each(rows)(`${title}: %s`, async (_, make) => {
          const { send } = await serve();
          expectRefusal(await send(bearer(await make())), 401, 'invalid_token');
          expect((await send(bearer(await issuer.token()))).status).toBe(200);
        });
      };

      refused(
        [
          ['another resource of the same issuer', () => issuer.token({ aud: 'https://api.example/files' })],
          ['the client', () => issuer.token({ aud: 'notes-app' })],
          ['the issuer', () => issuer.token({ aud: ISSUER })],
          ['nobody', () => issuer.token({ aud: undefined })],
          ['an empty list', () => issuer.token({ aud: [] })],
          ['null', () => issuer.token({ aud: null })],
          ['a longer path', () => issuer.token({ aud: 'https://api.example/mcp-evil' })],
          ['a path below', () => issuer.token({ aud: 'https://api.example/mcp/evil' })],
          ['a slash more', () => issuer.token({ aud: 'https://api.example/mcp/' })],
          ['the origin', () => issuer.token({ aud: 'https://api.example' })],
          ['another port', () => issuer.token({ aud: 'https://api.example:8443/mcp' })],
          ['another scheme', () => issuer.token({ aud: 'http://api.example/mcp' })],
          ['another case', () => issuer.token({ aud: 'https://API.example/mcp' })],
          ['this one and a foreign one', () => issuer.token({ aud: [RESOURCE, 'https://evil.example'] })],
          ['an object', () => issuer.token({ aud: { 0: RESOURCE, length: 1 } })],
        ],
        '[S-AUD-1 S-AUD-2 S-AUD-3 S-AUD-20 S-AUD-40 S-JWT-62] T087 issued for',
      );

      refused(
        [
          ['an attacker', () => issuer.token({ iss: 'https://evil.example' })],
          ['a slash more', () => issuer.token({ iss: `${ISSUER}/` })],
          ['a list', () => issuer.token({ iss: [ISSUER] })],
          ['nobody', () => issuer.token({ iss: undefined })],
          ['another case', () => issuer.token({ iss: 'https://AS.example' })],
        ],
        '[S-JWT-61] T088 issued by',
      );

      refused(
        [
          ['expired', () => issuer.token({ exp: NOW - 6 })],
          ['without an end', () => issuer.token({ exp: undefined })],
          ['with an end that is no number', () => issuer.token({ exp: String(NOW + 600) })],
          ['not valid yet', () => issuer.token({ nbf: NOW + 60 })],
          ['issued in the future', () => issuer.token({ iat: NOW + 3600 })],
          ['for nobody', () => issuer.token({ sub: '' })],
          ['for no client', () => issuer.token({ client_id: undefined })],
          ['with a wrong signature', async () => tampered(await issuer.token())],
          ['with a word that is no token', () => 'not-a-token'],
        ],
        '[S-VAL-1 S-VAL-2 S-VAL-3 S-JWT-63 S-BEAR-64 S-ERR-401 X-CC-14] a token',
      );

      it('[S-JWT-63] takes a clock that is a little off', async () => {
        const { send } = await serve({ skew: 30 });
        expect((await send(bearer(await issuer.token({ exp: NOW - 20 })))).status).toBe(200);
        expectRefusal0(await send(bearer(await issuer.token({ exp: NOW - 40 }))));
        expect((await send(bearer(await issuer.token({ nbf: NOW + 20, iat: NOW + 20 })))).status).toBe(200);
      });

      const expectRefusal0 = (response: Received): void => {
        expect([response.status, response.json['error']]).toEqual([401, 'invalid_token']);
      };

      refused(
        [
          ['none', () => new UnsecuredJWT(goodClaims(ISSUER)).encode()],
          ['none, typed', () => craft({ alg: 'none', typ: 'at+jwt', kid: 'key-1' }, '')],
          ['nOnE', () => craft({ alg: 'nOnE', typ: 'at+jwt', kid: 'key-1' }, '')],
          ['none, with a signature', () => craft({ alg: 'none', typ: 'at+jwt', kid: 'key-1' }, 'AAAA')],
          [
            'a signature of zeros',
            () => craft({ alg: 'ES256', typ: 'at+jwt', kid: 'key-1' }, 'A'.repeat(86)),
          ],
          ['an empty signature', () => craft({ alg: 'ES256', typ: 'at+jwt', kid: 'key-1' }, '')],
          ['HS256 by the JWK', () => hmacSigned(new TextEncoder().encode(JSON.stringify(issuer.publicJwk)))],
          ['HS256 by the PEM', async () => hmacSigned(new TextEncoder().encode(await pemOf(issuer)))],
          [
            'HS256 by the DER',
            async () =>
              hmacSigned(
                base64url.decode(
                  (await pemOf(issuer))
                    .replace(/-----.*-----|\n/g, '')
                    .replaceAll('+', '-')
                    .replaceAll('/', '_')
                    .replaceAll('=', ''),
                ),
              ),
          ],
          ['RS256 for a key of ES256', () => foreignSigned('RS256')],
          ['ES384 for a key of ES256', () => foreignSigned('ES384')],
        ],
        '[S-JWT-61] T089 signed with',
      );

      refused(
        [
          ['jwk', async () => selfSigned((jwk) => ({ jwk }))],
          ['jku', async () => selfSigned(() => ({ jku: 'https://evil.example/jwks' }))],
          ['x5u', async () => selfSigned(() => ({ x5u: 'https://evil.example/cert' }))],
          ['x5c', async () => selfSigned(() => ({ x5c: ['MIIB'] }))],
          ['another kid', async () => selfSigned(() => ({ kid: 'evil' }))],
          ['no kid', async () => selfSigned(() => ({ kid: undefined }))],
        ],
        'T090 whose key is its own, by',
      );

      refused(
        [
          [
            'an unknown critical extension',
            () => issuer.token({}, { crit: ['exp'], exp: 1 }).catch(() => craftSigned({ crit: ['x'], x: 1 })),
          ],
          ['b64:false', () => craftSigned({ b64: false, crit: ['b64'] })],
          ['b64 alone', () => craftSigned({ b64: false })],
          ['an encrypted token', () => 'eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.AAAA.AAAA.AAAA.AAAA'],
          ['a token in a token', () => craftSigned({ cty: 'JWT' })],
          ['an ID token', () => issuer.token({}, { typ: 'JWT' })],
          ['no type', () => issuer.token({}, { typ: undefined })],
          ['a logout token', () => issuer.token({}, { typ: 'logout+jwt' })],
          ['a client assertion', () => issuer.token({}, { typ: 'client-authentication+jwt' })],
          ['a DPoP proof', () => issuer.token({}, { typ: 'dpop+jwt' })],
          ['a code or refresh token', () => 'pcr_0190f1e2a3b4c5d6.q8w7e6r5t4y3u2i1'],
        ],
        '[S-JWT-60] T092 that is',
      );

      it.each(['at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/AT+jwt'])(
        '[S-JWT-60] takes the type %s',
        async (typ) => {
          const { send } = await serve();
          expect((await send(bearer(await issuer.token({}, { typ })))).status).toBe(200);
        },
      );

      refused(
        [
          ['two segments', async () => (await issuer.token()).split('.').slice(0, 2).join('.')],
          ['four segments', async () => `${await issuer.token()}.AAAA`],
          ['empty segments', () => '..'],
          ['a foreign alphabet', async () => (await issuer.token()).replace('.', '.+/~')],
          ['padding', async () => `${await issuer.token()}==`],
          ['invalid UTF-8', () => craftSigned({}, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))],
          [
            'a byte order mark',
            () => craftSigned({}, Buffer.from(`\ufeff${JSON.stringify(goodClaims(ISSUER))}`)),
          ],
          ['a claim that stands twice', () => craftSigned({}, Buffer.from(twice('aud')))],
          [
            'a header member that stands twice',
            () => craftRaw('{"alg":"none","alg":"ES256","typ":"at+jwt","kid":"key-1"}'),
          ],
          ['a list for claims', () => craftSigned({}, Buffer.from('[]'))],
          ['null for claims', () => craftSigned({}, Buffer.from('null'))],
          ['a deep pit for claims', () => craftSigned({}, Buffer.from('['.repeat(6000)))],
          ['10,000 characters', () => 'a'.repeat(10_000)],
          [
            'a header of 8,000 characters',
            () =>
              `${base64url.encode(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'k'.repeat(6000) }))}.AAAA.AAAA`,
          ],
        ],
        '[S-BEAR-67 S-VAL-3] T093 of a wrong form:',
      );

      it.each([
        ['a token', () => 'a'.repeat(200_000)],
        ['a JWT', () => Array.from({ length: 3 }, () => 'a'.repeat(70_000)).join('.')],
        ['a header of one', () => `${'a'.repeat(200_000)}.e30.AAAA`],
      ])('T093 of a size beyond all bounds reaches nobody: %s', async (_, make) => {
        const { send } = await serve();
        // A server may be quicker than the guard, and close the connection while the rest is being sent.
        const status = await send(bearer(make())).then(
          (response) => response.status,
          () => 431,
        );
        expect([401, 431]).toContain(status);
        expect(reached).toEqual([]);
        expect((await send(bearer(await issuer.token()))).status).toBe(200);
      });

      it('T088 keeps the issuers of two resources apart', async () => {
        const other = await createIssuer('https://other.example');
        const { send } = await serve({
          resources: [
            { resource: 'https://api.example/mcp' },
            { resource: 'https://api.example/b', verifier: other.verifier() },
          ],
        });
        const foreign = await other.token();
        expectRefusal(await send(bearer(foreign)), 401, 'invalid_token');
        const own = await other.token({ aud: 'https://api.example/b' });
        expect((await send({ ...bearer(own), path: '/b' })).status).toBe(200);
        expect((await send({ ...bearer(own), path: '/mcp' })).status).toBe(401);
      });

      it('T095 refuses a revoked one at the next request, though it was remembered', async () => {
        let live = true;
        const { send } = await serve({ verifier: issuer.verifier({ isLive: () => live }) });
        const token = await issuer.token();
        expect((await send(bearer(token))).status).toBe(200);
        expect((await send(bearer(token))).status).toBe(200);
        live = false;
        reached = [];
        expectRefusal(await send(bearer(token)), 401, 'invalid_token');
        live = true;
        expect((await send(bearer(token))).status).toBe(200);
      });

      it('[S-BEAR-68 S-STORE-1] echoes no token, and tells the log none', async () => {
        const { send } = await serve();
        const token = await issuer.token({ exp: NOW - 100, sub: 'canary-subject' });
        const response = await send(bearer(token));
        expectRefusal(response, 401, 'invalid_token');
        const [, payload = ''] = token.split('.');
        for (const secret of [token, payload, 'canary-subject']) {
          expect(
            response.text + JSON.stringify([...response.headers]) + JSON.stringify(events),
          ).not.toContain(secret);
        }
        expect(events).toMatchObject([{ type: 'request.refused', status: 401, reason: 'token has expired' }]);
      });

      function hmacSigned(secret: Uint8Array): Promise<string> {
        return new SignJWT(goodClaims(ISSUER))
          .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'key-1' })
          .sign(secret.length < 32 ? new Uint8Array(32) : secret);
      }

      async function foreignSigned(algorithm: string): Promise<string> {
        const attacker = await createIssuer(ISSUER, algorithm);
        return attacker.token();
      }

      async function selfSigned(header: (jwk: object) => Record<string, unknown>): Promise<string> {
        const attacker = await createIssuer(ISSUER);
        const { x, y, kty, crv } = attacker.publicJwk;
        return attacker.token({}, header({ kty, crv, x, y }));
      }

      /** Signed by the issuer itself, as jose would refuse to. */
      function craftSigned(header: Record<string, unknown>, payload?: Uint8Array): Promise<string> {
        const claims = payload ?? Buffer.from(JSON.stringify(goodClaims(ISSUER)));
        return signRaw(
          issuer,
          JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'key-1', ...header }),
          claims,
        );
      }

      function craftRaw(header: string): Promise<string> {
        return signRaw(issuer, header, Buffer.from(JSON.stringify(goodClaims(ISSUER))));
      }
    });

    describe('a token that is bound to a key', () => {
      const dpop = { nonces: { secret: new Uint8Array(32).fill(1) } };
      let holder: Holder;
      let token: string;

      beforeAll(async () => {
        holder = await createHolder();
        token = await issuer.token({ cnf: { jkt: holder.thumbprint } });
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
        expect(reached).toEqual([]);
      }

      it('[X-DPOP-6 X-DPOP-10] is admitted with a proof that holds the nonce it was told, and once', async () => {
        const { send } = await serve({ dpop });
        const first = await send(sent(await holder.prove(token)));
        expectUnproven(first, 'use_dpop_nonce');
        const nonce = first.headers.get('dpop-nonce') ?? '';
        expect(first.headers.get('access-control-expose-headers')).toContain('DPoP-Nonce');
        const proof = await holder.prove(token, { nonce });
        const admitted = await send(sent(proof));
        expect([admitted.status, admitted.headers.get('dpop-nonce')]).toEqual([200, nonce]);
        expect(admitted.json['principal']).toMatchObject({ subject: 'alice' });
        expect(admitted.text).not.toContain(proof);
        expect(admitted.text).not.toContain(token);
        reached = [];
        expectUnproven(await send(sent(proof)), 'invalid_dpop_proof');
      });

      it('[X-DPOP-6 X-DPOP-8 X-DPOP-9] is refused without a proof, with two, with that of another, and as a plain one', async () => {
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

    it('a token that is bound to a certificate is admitted with it alone', async () => {
      const { send } = await serve({ certificates: { from: 'field' } });
      const [mine, foreign] = [Buffer.from('my certificate'), Buffer.from('another one')];
      const thumbprint = createHash('sha256').update(mine).digest('base64url');
      const token = await issuer.token({ cnf: { 'x5t#S256': thumbprint } });
      const field = (der: Buffer) => ['client-cert', `:${der.toString('base64')}:`] as const;
      expectRefusal(await send(bearer(token)), 401, 'invalid_token');
      expectRefusal(await send(bearer(token, field(foreign))), 401, 'invalid_token');
      expect((await send(bearer(token, field(mine)))).status).toBe(200);
    });

    describe('handles', () => {
      /** Opens a handle, or finds what stands behind one: in a table of this process, and sealed. */
      function keeping(): Application {
        const table = createHandleTable<string>();
        const seal = createHandleSeal(new Uint8Array(32).fill(3));
        return async ({ body, principal }) => {
          const { open, find, sealed } = JSON.parse(body);
          const json = (status: number, value: unknown) => ({ status, body: JSON.stringify(value) });
          if (open !== undefined)
            return json(200, { find: table.open(principal, open), sealed: await seal.seal(principal, open) });
          const found =
            sealed === undefined ? table.find(principal, find) : await seal.unseal(principal, sealed);
          return found ? json(200, { found }) : json(404, {});
        };
      }

      it.each([
        ['another person by the same client', { sub: 'bob' }],
        ['the same person by another client', { client_id: 'other' }],
      ])('[S-SESS-42] T101 are found for whoever opened them, and not for %s', async (_, claims) => {
        const { send } = await serve({}, keeping());
        const [hers, theirs] = await Promise.all([issuer.token(), issuer.token(claims)]);
        const post = (token: string, body: unknown): Promise<Received> =>
          send({ method: 'POST', body: JSON.stringify(body), ...bearer(token) });
        const { find, sealed } = JSON.parse((await post(hers, { open: 'her notes' })).text);
        for (const handle of [{ find }, { sealed }]) {
          const stolen = await post(theirs, handle);
          expect([stolen.status, stolen.text]).toEqual([404, '{}']);
          const own = await post(hers, handle);
          expect([own.status, JSON.parse(own.text)]).toEqual([200, { found: 'her notes' }]);
        }
      });
    });

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
        '[S-403-20 S-403-21 S-403-22 S-403-23 S-403-24 S-BEAR-65 S-ERR-403 S-VAL-1] T096 refuses %s',
        async (_, scope) => {
          const { send } = await serve(scoped);
          const response = await send(bearer(await issuer.token({ scope, scp: 'files:read' })));
          expectRefusal(response, 403, 'insufficient_scope');
          const challenge = findChallenge(
            parseChallenges(response.headers.get('www-authenticate')),
            'Bearer',
          );
          expect(challenge?.parameters.get('scope')).toBe('files:read');
          expect(challenge?.parameters.get('error_description')).not.toBe('');
          expect(response.json['scope']).toBe('files:read');
        },
      );

      it('T096 takes no scopes from a list: the claim is a string', async () => {
        const { send } = await serve(scoped);
        expectRefusal(
          await send(bearer(await issuer.token({ scope: ['files:read'] }))),
          401,
          'invalid_token',
        );
      });

      it.each(['files:read', 'files:write', 'admin', 'other files:read'])(
        '[S-SCOPE-30 S-MIN-41] T096 admits what carries it or implies it: %s',
        async (scope) => {
          const { send } = await serve(scoped);
          expect((await send(bearer(await issuer.token({ scope })))).status).toBe(200);
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
        '[S-403-22 S-403-26 S-403-30 S-403-31] names all scopes of %s at once',
        async (_, message, needed) => {
          const { send } = await serve(byTool);
          const body = JSON.stringify(message);
          const token = await issuer.token({ scope: 'base' });
          const response = await send({ method: 'POST', body, ...bearer(token) });
          expectRefusal(response, 403, 'insufficient_scope');
          expect(response.json['scope']).toBe(needed);
          expect((await send({ method: 'POST', body, ...bearer(token) })).json['scope']).toBe(needed);
          const twin = await send({ method: 'POST', body, ...bearer(await issuer.token({ scope: needed })) });
          expect(twin.status).toBe(200);
          expect(twin.json['body']).toBe(body);
        },
      );

      it('[S-SCOPE-21 S-SCOPE-22 S-SCOPE-23] may need scopes that the metadata does not name: it names those to begin with', async () => {
        const { send } = await serve(byTool);
        const token = bearer(await issuer.token({ scope: 'base' }));
        const { json } = await send({ method: 'POST', body: JSON.stringify(call('add_note')), ...token });
        expect(json['scope']).toBe('base notes:write');
        expect((await send({ path: METADATA_PATH })).json['scopes_supported']).toEqual(['base']);
        expect((await send({})).headers.get('www-authenticate')).toContain('scope="base"');
      });

      it('[S-MIN-42] tells the log what was needed, what was granted, and on which token', async () => {
        const { send } = await serve(byTool);
        const token = await issuer.token({ scope: 'base', jti: 'the-token' });
        await send({ method: 'POST', body: JSON.stringify(call('add_note')), ...bearer(token) });
        expect(events).toMatchObject([
          {
            type: 'scopes.missing',
            subject: 'alice',
            tokenId: 'the-token',
            needed: ['base', 'notes:write'],
            granted: ['base'],
          },
          { type: 'request.refused', status: 403 },
        ]);
      });

      it('hands on a body that arrived in pieces, byte for byte', async () => {
        const { send } = await serve(byTool);
        const body = JSON.stringify({ ...call('add_note'), padding: 'ü'.repeat(100_000) });
        const pieces = [body.slice(0, 10), body.slice(10, 70_000), body.slice(70_000)];
        const token = await issuer.token({ scope: 'base notes:write' });
        const response = await send({ method: 'POST', body: pieces, ...bearer(token) });
        expect(response.status).toBe(200);
        expect(response.json['body']).toBe(body);
      });

      it.each([
        ['an empty body', ''],
        ['a response', '{"jsonrpc":"2.0","id":1,"result":{}}'],
        ['an empty batch', '[]'],
        ['a number', '42'],
      ])('lets %s pass to the application: it asks for nothing', async (_, body) => {
        const { send } = await serve(byTool);
        const response = await send({
          method: 'POST',
          body,
          ...bearer(await issuer.token({ scope: 'base' })),
        });
        expect([response.status, response.json['body']]).toEqual([200, body]);
      });

      it('refuses a body that it cannot read, for it cannot be judged', async () => {
        const { send } = await serve(byTool);
        const token = bearer(await issuer.token({ scope: 'base' }));
        for (const body of ['{"method":', '{"method":"x"}{}', 'method=tools/call']) {
          expectRefusal(await send({ method: 'POST', body, ...token }), 400, 'invalid_request');
        }
        expect((await send({ method: 'GET', ...token })).status).toBe(200);
      });

      it('[ALL-HTTP-61] refuses a body beyond the limit', async () => {
        const { send } = await serve({ ...byTool, bodyLimit: 100 });
        const token = bearer(await issuer.token({ scope: 'base' }));
        const response = await send({ method: 'POST', body: JSON.stringify('x'.repeat(200)), ...token });
        expect([response.status, response.json['error']]).toEqual([413, 'invalid_request']);
        expect(response.headers.get('www-authenticate')).toBeNull();
        expect(reached).toEqual([]);
        expect((await send({ method: 'POST', body: '{}', ...token })).status).toBe(200);
      });

      it('[S-HTTP-33] judges the token before the body', async () => {
        const { send } = await serve({ ...byTool, bodyLimit: 10 });
        expectRefusal(await send({ method: 'POST', body: '{"broken and long' }), 401, undefined);
        const expired = bearer(await issuer.token({ exp: NOW - 100 }));
        expectRefusal(
          await send({ method: 'POST', body: '{"broken and long', ...expired }),
          401,
          'invalid_token',
        );
      });

      it('[S-403-20 S-MIN-40] turns what the application finds out late into a challenge', async () => {
        const { send } = await serve({}, () => {
          throw new OAuthError('insufficient_scope', 'This note needs more.', { scopes: ['notes:own'] });
        });
        const response = await send(bearer(await issuer.token()));
        reached = [];
        expectRefusal(response, 403, 'insufficient_scope');
        expect(response.headers.get('www-authenticate')).toContain('scope="notes:own"');
      });
    });

    describe('challenges', () => {
      it('[S-WA-60 S-WA-61 S-WA-62] T097 stay one well-formed challenge, whatever the request says', async () => {
        const { send } = await serve({ scopes: ['a:b'] });
        const token = await issuer.token({ scope: 'a", error="invalid_token' });
        const evil = '/mcp/a%22,%20error=%22x%22%0d%0aSet-Cookie:%20a=b';
        const response = await send({ ...bearer(token, ['x-forwarded-host', 'evil"\\']), path: evil });
        expectRefusal(response, 403, 'insufficient_scope');
        const header = response.headers.get('www-authenticate') ?? '';
        expect(header).toMatch(/^Bearer (?:[a-z_]+="[^"\\]*"(?:, |$))+$/);
        const names = [...header.matchAll(/([a-z_]+)="/g)].map(([, parameter]) => parameter);
        expect(new Set(names).size).toBe(names.length);
        expect(/error_description="[^"]*(?:scope|resource_metadata)=/.test(header)).toBe(false);
        expect(response.headers.get('set-cookie')).toBeNull();
      });

      it('[S-WA-62] T097 keep an application sentence from posing as a parameter', async () => {
        const { send } = await serve({}, () => {
          throw new OAuthError(
            'insufficient_scope',
            'no", scope="admin\r\nX: y\\ resource_metadata=https://evil.example',
            {
              scopes: ['a'],
            },
          );
        });
        const response = await send(bearer(await issuer.token()));
        const [challenge] = parseChallenges(response.headers.get('www-authenticate'));
        expect(challenge?.parameters.get('scope')).toBe('a');
        expect(challenge?.parameters.get('resource_metadata')).toBe(METADATA);
        expect(response.headers.get('www-authenticate')).not.toContain('resource_metadata=https');
      });

      it('T097 leave out what is no scope, though an application names it', async () => {
        const { send } = await serve({}, () => {
          throw new OAuthError('insufficient_scope', 'More.', { scopes: ['a', 'b" error="x', 'c\r\n'] });
        });
        const response = await send(bearer(await issuer.token()));
        expect([response.status, response.json['scope']]).toEqual([403, 'a']);
        expect(response.headers.get('www-authenticate')).toContain('scope="a"');
      });

      it('T059 name the configured URLs, whatever host is asked for', async () => {
        const { send } = await serve();
        const response = await send({
          headers: [
            ['host', 'evil.example'],
            ['x-forwarded-host', 'evil.example'],
            ['x-forwarded-proto', 'http'],
            ['forwarded', 'host=evil.example'],
          ],
        });
        expectRefusal(response, 401, undefined);
        expect(response.text + JSON.stringify([...response.headers])).not.toContain('evil');
        expect(
          (await send({ path: METADATA_PATH, headers: [['host', 'evil.example']] })).json['resource'],
        ).toBe(RESOURCE);
      });

      it('[ALL-VER-1 S-401-3] of a Profile A server name a realm, and no metadata', async () => {
        const { send } = await serve({ profiles: [profileA] });
        const response = await send({});
        expect(response.status).toBe(401);
        expect(response.headers.get('www-authenticate')).toBe(`Bearer realm="${RESOURCE}"`);
        expect(response.json['resource_metadata']).toBeUndefined();
        for (const path of [METADATA_PATH, '/.well-known/oauth-protected-resource']) {
          expect((await send({ path })).status).toBe(404);
        }
        expect((await send(bearer(await issuer.token()))).status).toBe(200);
      });

      it('of a Profile B server name no scopes, as nobody would read them', async () => {
        const { send } = await serve({ profiles: [profileA, profileB] });
        expect((await send({})).headers.get('www-authenticate')).toBe(
          `Bearer resource_metadata="${METADATA}"`,
        );
      });
    });

    describe('metadata', () => {
      it('[S-PRM-1 S-PRM-2 S-PRM-5 S-PRM-60 S-PRM-61 S-PRM-62 S-PRM-65 S-PRM-66 S-PRM-67 S-PRM-68 S-SCOPE-23] is served at both places, without a token', async () => {
        const { send } = await serve({
          scopes: ['files:read'],
          name: 'Files',
          documentation: 'https://api.example/docs',
        });
        for (const path of [METADATA_PATH, '/.well-known/oauth-protected-resource']) {
          const response = await send({ path });
          expect(response.status).toBe(200);
          expect(response.headers.get('content-type')).toMatch(/^application\/json(?:;|$)/);
          expect(response.headers.get('cache-control')).toMatch(/max-age=\d+/);
          expect(response.json).toEqual({
            resource: RESOURCE,
            authorization_servers: [ISSUER],
            scopes_supported: ['files:read', 'notes:read'],
            bearer_methods_supported: ['header'],
            resource_name: 'Files',
            resource_documentation: 'https://api.example/docs',
          });
        }
        expect(reached).toEqual([]);
      });

      it('[S-PRM-63] leaves scopes out when there are none', async () => {
        const { send } = await serve({ defaultScopes: [] });
        const { json } = await send({ path: METADATA_PATH });
        expect(Object.keys(json)).not.toContain('scopes_supported');
        expect((await send({})).headers.get('www-authenticate')).toBe(
          `Bearer resource_metadata="${METADATA}"`,
        );
      });

      it('[S-PRM-3 ALL-RES-9] may name several authorization servers, and the resource in its canonical form', async () => {
        const { send } = await serve({
          resource: 'HTTPS://API.Example/mcp',
          authorizationServers: [ISSUER, 'https://second.example/t1'],
        });
        expect((await send({ path: METADATA_PATH })).json).toMatchObject({
          resource: RESOURCE,
          authorization_servers: [ISSUER, 'https://second.example/t1'],
        });
        expect((await send(bearer(await issuer.token()))).status).toBe(200);
      });

      it('[S-PRM-64 ALL-HTTP-60] is found nowhere else', async () => {
        const { send } = await serve();
        for (const path of [
          `${METADATA_PATH}/x`,
          '/.well-known/oauth-protected-resource/other',
          `${METADATA_PATH}-evil`,
        ]) {
          const response = await send({ path });
          expect([path, response.status]).toEqual([path, 404]);
          expect(response.headers.get('www-authenticate')).toBeNull();
        }
      });

      it('[S-PRM-64] names each of several resources at its own place alone', async () => {
        const { send } = await serve({
          resources: [{ resource: 'https://api.example/a' }, { resource: 'https://api.example/a/b' }],
        });
        const root = '/.well-known/oauth-protected-resource';
        expect((await send({ path: `${root}/a` })).json['resource']).toBe('https://api.example/a');
        expect((await send({ path: `${root}/a/b` })).json['resource']).toBe('https://api.example/a/b');
        expect((await send({ path: root })).status).toBe(404);
        const token = bearer(await issuer.token({ aud: 'https://api.example/a/b' }));
        expect((await send({ ...token, path: '/a/b/c' })).status).toBe(200);
        expect((await send({ ...token, path: '/A/B' })).status).toBe(200);
        expect((await send({ ...token, path: '/a/bc' })).status).toBe(401);
        expect((await send({ ...token, path: '/elsewhere' })).status).toBe(404);
      });

      it('[ALL-HTTP-60] can be asked for its head, and for nothing but reading', async () => {
        const { send } = await serve();
        const head = await send({ path: METADATA_PATH, method: 'HEAD' });
        expect([head.status, head.text, head.headers.get('content-type')]).toEqual([
          200,
          '',
          'application/json',
        ]);
        for (const method of ['POST', 'PUT', 'DELETE']) {
          const response = await send({ path: METADATA_PATH, method });
          expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
        }
      });

      it('[AS-META-7] of an authorization server is not found, and not guarded', async () => {
        const { send } = await serve();
        for (const path of [
          '/.well-known/oauth-authorization-server',
          '/.well-known/openid-configuration/mcp',
        ]) {
          expect((await send({ path })).status).toBe(404);
        }
      });
    });

    describe('pages', () => {
      const LOCAL = 'http://localhost:9999/mcp';
      const local: Options = { resource: LOCAL };
      const localToken = async (): Promise<string> => issuer.token({ aud: LOCAL });

      const WANTED = [
        'authorization',
        'content-type',
        'accept',
        'mcp-protocol-version',
        'ctx-protocol-version',
        'dpop',
        'mcp-method',
        'mcp-name',
        'mcp-session-id',
        'last-event-id',
      ];

      it.each(['/mcp', METADATA_PATH])(
        '[ALL-CORS-61 ALL-CORS-62] T100 preflights pass without a token: %s',
        async (path) => {
          const { send } = await serve();
          const response = await send({
            method: 'OPTIONS',
            path,
            headers: [
              ['origin', 'https://app.example'],
              ['access-control-request-method', 'POST'],
              ['access-control-request-headers', WANTED.join(', ')],
            ],
          });
          expect(response.status).toBe(204);
          expect(response.headers.get('access-control-allow-origin')).toBe('*');
          const allowed = (response.headers.get('access-control-allow-headers') ?? '')
            .toLowerCase()
            .split(', ');
          expect(allowed).toEqual(expect.arrayContaining(WANTED));
          expect(response.headers.get('access-control-allow-credentials')).toBeNull();
          expect(reached).toEqual([]);
        },
      );

      it('[S-CORS-63 ALL-CORS-60] can read challenges, answers and metadata', async () => {
        const { send } = await serve({ scopes: ['x'] });
        const origin = ['origin', 'https://app.example'] as const;
        const good = await issuer.token({ scope: 'x' });
        const answers = [
          await send({ headers: [origin] }),
          await send(bearer('junk', origin)),
          await send(bearer(await issuer.token(), origin)),
          await send(bearer(good, origin)),
          await send(bearer(good, origin)),
        ];
        expect(answers.map(({ status }) => status)).toEqual([401, 401, 403, 200, 200]);
        for (const { headers } of answers) {
          expect(headers.get('access-control-allow-origin')).toBe('*');
          const exposed = headers.get('access-control-expose-headers')?.toLowerCase().split(', ');
          expect(exposed).toEqual(
            expect.arrayContaining(['www-authenticate', 'dpop-nonce', 'mcp-session-id']),
          );
        }
        const metadata = await send({ path: METADATA_PATH, headers: [origin] });
        expect(metadata.headers.get('access-control-allow-origin')).toBe('*');
      });

      it('[S-HTTP-30 S-HTTP-33] T100 of unlisted origins are refused before the token is looked at', async () => {
        const { send } = await serve({ origins: ['https://app.example'] });
        const token = await issuer.token();
        for (const sent of [
          bearer(token, ['origin', 'https://evil.example']),
          { headers: [['origin', 'https://evil.example']] as const },
        ]) {
          const response = await send(sent);
          expect([response.status, response.json['error']]).toEqual([403, 'origin_not_allowed']);
          expect(response.headers.get('www-authenticate')).toBeNull();
          expect(response.headers.get('access-control-allow-origin')).toBeNull();
        }
        expect(reached).toEqual([]);
        const twin = await send(bearer(token, ['origin', 'https://app.example']));
        expect([
          twin.status,
          twin.headers.get('access-control-allow-origin'),
          twin.headers.get('vary'),
        ]).toEqual([200, 'https://app.example', 'Origin']);
        expect((await send(bearer(token))).status).toBe(200);
      });

      it.each([
        ['an origin elsewhere', [['origin', 'https://evil.example']]],
        ['an origin that begins alike', [['origin', 'http://localhost.evil.example']]],
        ['an origin that ends alike', [['origin', 'http://evil-localhost']]],
        ['no origin worth the name', [['origin', 'null']]],
        ['a broken origin', [['origin', 'localhost']]],
        ['an origin with a path', [['origin', 'http://localhost/x']]],
        ['a host elsewhere', [['host', 'evil.example']]],
        ['a host elsewhere with a port', [['host', 'evil.example:9999']]],
        ['a host that begins alike', [['host', 'localhost.evil.example']]],
        ['a host that is hidden', [['host', 'evil.example#localhost']]],
        [
          'a socket opened by a page',
          [
            ['origin', 'https://evil.example'],
            ['connection', 'upgrade'],
            ['upgrade', 'websocket'],
          ],
        ],
      ] as const)('[S-HTTP-30] T100 of %s cannot reach a server on this computer', async (_, headers) => {
        const { send } = await serve(local);
        const token = await localToken();
        for (const sent of [{ headers }, bearer(token, ...headers)]) {
          const response = await send(sent);
          // A framework may be quicker than the guard to find a Host malformed.
          expect(response.status).toBe(response.text.includes('"error"') ? 403 : 400);
          expect(response.headers.get('www-authenticate')).toBeNull();
          expect(response.headers.get('access-control-allow-origin')).toBeNull();
        }
        expect(reached).toEqual([]);
      });

      it.each([
        [[['host', 'localhost:9999']]],
        [[['host', '127.0.0.1:1234']]],
        [[['host', '[::1]:9999']]],
        [[['host', 'LOCALHOST']]],
        [
          [
            ['host', 'localhost'],
            ['origin', 'http://localhost:6274'],
          ],
        ],
        [
          [
            ['host', 'localhost'],
            ['origin', 'http://127.0.0.1'],
          ],
        ],
      ] as const)('T100 of this computer reach a server on it: %j', async (headers) => {
        const { send } = await serve(local);
        const response = await send(bearer(await localToken(), ...headers));
        expect(response.status).toBe(200);
        const [, origin] = headers;
        expect(response.headers.get('access-control-allow-origin')).toBe(origin?.[1] ?? null);
      });

      it('[S-HTTP-30] T100 of this computer are refused too where others are listed', async () => {
        const { send } = await serve({ ...local, origins: ['https://app.example'] });
        const from = async (origin: string): Promise<number> =>
          (await send(bearer(await localToken(), ['host', 'localhost:9999'], ['origin', origin]))).status;
        expect(await from('http://localhost:5173')).toBe(403);
        expect(await from('https://app.example')).toBe(200);
        expect(await from('http://localhost:9999')).toBe(200);
      });

      it('T100 of another name reach a server on this computer where it is listed', async () => {
        const { send } = await serve({ ...local, hosts: ['tunnel.example'] });
        const by = async (host: string): Promise<number> =>
          (await send(bearer(await localToken(), ['host', host]))).status;
        expect([await by('tunnel.example'), await by('localhost'), await by('evil.example')]).toEqual([
          200, 200, 403,
        ]);
      });

      it('[S-LOCAL-40] a server on this computer asks for a token too', async () => {
        const { send } = await serve(local);
        expect((await send({ headers: [['host', 'localhost']] })).status).toBe(401);
        expect(reached).toEqual([]);
      });

      it('T100 preflights from elsewhere are answered, and allowed nothing', async () => {
        const { send } = await serve(local);
        const response = await send({
          method: 'OPTIONS',
          headers: [
            ['host', 'localhost'],
            ['origin', 'https://evil.example'],
            ['access-control-request-method', 'POST'],
          ],
        });
        expect(response.status).toBe(204);
        expect(response.headers.get('access-control-allow-origin')).toBeNull();
        expect(response.headers.get('access-control-allow-headers')).toBeNull();
      });
    });

    describe('when something fails', () => {
      it('[S-ERR-ALL] T098 a verifier that throws gives 503, and tells nobody why', async () => {
        const verifier = {
          issuers: [ISSUER],
          verify: () => {
            throw new Error('https://as.internal/jwks refused at Verifier (node:internal)');
          },
        };
        const { send } = await serve({ verifier });
        const response = await send(bearer(await issuer.token()));
        expect([response.status, response.json['error']]).toEqual([503, 'temporarily_unavailable']);
        expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(response.headers.get('www-authenticate')).toBeNull();
        expect(response.text).not.toMatch(/internal|jwks|Error/);
        expect(reached).toEqual([]);
      });

      it('[S-JWT-64] T098 keys that cannot be had give 503, never 401 and never admission', async () => {
        const verifier = issuer.verifier({ jwks: () => Promise.reject(new Error('down')) });
        const { send } = await serve({ verifier });
        const response = await send(bearer(await issuer.token()));
        expect([response.status, response.json['error']]).toEqual([503, 'temporarily_unavailable']);
        expect((await send({})).status).toBe(401);
        expect(reached).toEqual([]);
      });

      it('T098 a status that cannot be asked for gives 503', async () => {
        const isLive = (): Promise<boolean> => Promise.reject(new Error('store is down'));
        const { send } = await serve({ verifier: issuer.verifier({ isLive }) });
        const response = await send(bearer(await issuer.token()));
        expect([response.status, response.json['error']]).toEqual([503, 'temporarily_unavailable']);
        expect(reached).toEqual([]);
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
          ...bearer(await issuer.token()),
        });
        expect([response.status, response.json['error']]).toEqual([500, 'server_error']);
        expect(response.text).not.toContain('secret detail');
        expect(events).toMatchObject([{ type: 'request.failed', cause }]);
        expect(reached).toEqual([]);
      });

      it('T098 an application that throws ends its own request alone', async () => {
        const cause = new Error('mine');
        let isBroken = true;
        const { send } = await serve({}, (seen) => {
          if (isBroken) throw cause;
          return echo(seen);
        });
        const sent = bearer(await issuer.token());
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
          ...bearer(await issuer.token()),
        });
        expect(response.status).toBe(500);
        expect(response.headers.get('www-authenticate')).toBeNull();
        expect(reached).toEqual([]);
      });
    });

    it('T102 keeps 100 interleaved requests of two people apart', async () => {
      const { send } = await serve({}, async (seen) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
        return echo(seen);
      });
      const tokens = await Promise.all(['alice', 'bob'].map((sub) => issuer.token({ sub })));
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

    it('[S-SESS-40] asks for a token although a session is named', async () => {
      const { send } = await serve();
      const session = ['mcp-session-id', 'a-session'] as const;
      expect((await send(bearer(await issuer.token(), session))).status).toBe(200);
      reached = [];
      expectRefusal(await send({ headers: [session] }), 401, undefined);
    });
  });
}

function tampered(token: string): string {
  const [header, payload, signature = ''] = token.split('.');
  const flipped = signature.startsWith('A') ? 'B' : 'A';
  return `${header}.${payload}.${flipped}${signature.slice(1)}`;
}

function craft(header: object, signature: string): string {
  return [
    base64url.encode(JSON.stringify(header)),
    base64url.encode(JSON.stringify(goodClaims(ISSUER))),
    signature,
  ].join('.');
}

async function signRaw(issuer: TestIssuer, header: string, payload: Uint8Array): Promise<string> {
  const input = `${base64url.encode(header)}.${base64url.encode(payload)}`;
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
  const signature = await crypto.subtle.sign(algorithm, issuer.privateKey, new TextEncoder().encode(input));
  return `${input}.${base64url.encode(new Uint8Array(signature))}`;
}

function twice(claim: string): string {
  const claims = JSON.stringify(goodClaims(ISSUER));
  return `{"${claim}":"https://evil.example",${claims.slice(1)}`;
}

async function pemOf(issuer: TestIssuer): Promise<string> {
  const key = await importJWK(issuer.publicJwk, 'ES256');
  if (key instanceof Uint8Array) throw new Error('not a public key');
  return exportSPKI(key);
}
