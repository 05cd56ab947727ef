/** Invalid tokens that must be rejected, each beside a valid one. */
import { base64url, exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createIssuer, goodClaims, ISSUER, NOW, RESOURCE, type TestIssuer } from '../support/issuer.ts';
import type { Received } from '../support/server.ts';
import { bearer, type Stage } from './stage.ts';

export function describeBadTokens(stage: Stage): void {
  const { serve, expectRefusal } = stage;

  describe('a bad token', () => {
    const refused = (
      rows: readonly (readonly [string, () => string | Promise<string>])[],
      title: string,
    ): void => {
      it.each(rows)(`${title}: %s`, async (_, make) => {
        const { send } = await serve();
        expectRefusal(await send(bearer(await make())), 401, 'invalid_token');
        expect((await send(bearer(await stage.issuer.token()))).status).toBe(200);
      });
    };

    refused(
      [
        [
          'another resource of the same issuer',
          () => stage.issuer.token({ aud: 'https://api.example/files' }),
        ],
        ['the client', () => stage.issuer.token({ aud: 'notes-app' })],
        ['the issuer', () => stage.issuer.token({ aud: ISSUER })],
        ['no audience', () => stage.issuer.token({ aud: undefined })],
        ['an empty list', () => stage.issuer.token({ aud: [] })],
        ['null', () => stage.issuer.token({ aud: null })],
        ['a longer path', () => stage.issuer.token({ aud: 'https://api.example/mcp-evil' })],
        ['a path below', () => stage.issuer.token({ aud: 'https://api.example/mcp/evil' })],
        ['an additional slash', () => stage.issuer.token({ aud: 'https://api.example/mcp/' })],
        ['the origin', () => stage.issuer.token({ aud: 'https://api.example' })],
        ['another port', () => stage.issuer.token({ aud: 'https://api.example:8443/mcp' })],
        ['another scheme', () => stage.issuer.token({ aud: 'http://api.example/mcp' })],
        ['uppercase letters', () => stage.issuer.token({ aud: 'https://API.example/mcp' })],
        ['this one and a foreign one', () => stage.issuer.token({ aud: [RESOURCE, 'https://evil.example'] })],
        ['an object', () => stage.issuer.token({ aud: { 0: RESOURCE, length: 1 } })],
      ],
      '[S-AUD-1 S-AUD-2 S-AUD-3 S-AUD-20 S-AUD-40 S-JWT-62] T087 rejects a token whose audience is',
    );

    refused(
      [
        ['an attacker', () => stage.issuer.token({ iss: 'https://evil.example' })],
        ['an additional slash', () => stage.issuer.token({ iss: `${ISSUER}/` })],
        ['a list', () => stage.issuer.token({ iss: [ISSUER] })],
        ['no issuer', () => stage.issuer.token({ iss: undefined })],
        ['uppercase letters', () => stage.issuer.token({ iss: 'https://AS.example' })],
      ],
      '[S-JWT-61] T088 rejects a token whose issuer is',
    );

    refused(
      [
        ['that has expired', () => stage.issuer.token({ exp: NOW - 6 })],
        ['without an expiry', () => stage.issuer.token({ exp: undefined })],
        ['with an expiry that is not a number', () => stage.issuer.token({ exp: String(NOW + 600) })],
        ['that is not valid yet', () => stage.issuer.token({ nbf: NOW + 60 })],
        ['that was issued in the future', () => stage.issuer.token({ iat: NOW + 3600 })],
        ['with an empty subject', () => stage.issuer.token({ sub: '' })],
        ['without a client', () => stage.issuer.token({ client_id: undefined })],
        ['with a wrong signature', async () => tampered(await stage.issuer.token())],
        ['that is an arbitrary word', () => 'not-a-token'],
      ],
      '[S-VAL-1 S-VAL-2 S-VAL-3 S-JWT-63 S-BEAR-64 S-ERR-401 X-CC-14] rejects a token',
    );

    it('[S-JWT-63] tolerates clocks that differ by less than clockTolerance', async () => {
      const { send } = await serve({ clockTolerance: 30 });
      expect((await send(bearer(await stage.issuer.token({ exp: NOW - 20 })))).status).toBe(200);
      expectRefusal0(await send(bearer(await stage.issuer.token({ exp: NOW - 40 }))));
      expect((await send(bearer(await stage.issuer.token({ nbf: NOW + 20, iat: NOW + 20 })))).status).toBe(
        200,
      );
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
        ['a signature of zeros', () => craft({ alg: 'ES256', typ: 'at+jwt', kid: 'key-1' }, 'A'.repeat(86))],
        ['an empty signature', () => craft({ alg: 'ES256', typ: 'at+jwt', kid: 'key-1' }, '')],
        [
          'HS256 by the JWK',
          () => hmacSigned(new TextEncoder().encode(JSON.stringify(stage.issuer.publicJwk))),
        ],
        ['HS256 by the PEM', async () => hmacSigned(new TextEncoder().encode(await pemOf(stage.issuer)))],
        [
          'HS256 by the DER',
          async () =>
            hmacSigned(
              base64url.decode(
                (await pemOf(stage.issuer))
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
      '[S-JWT-61] T089 rejects a token by its algorithm or signature',
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
      'T090 rejects a token that brings its own key by',
    );

    refused(
      [
        [
          'an unknown critical extension',
          () =>
            stage.issuer.token({}, { crit: ['exp'], exp: 1 }).catch(() => craftSigned({ crit: ['x'], x: 1 })),
        ],
        ['b64:false', () => craftSigned({ b64: false, crit: ['b64'] })],
        ['b64 alone', () => craftSigned({ b64: false })],
        ['an encrypted token', () => 'eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.AAAA.AAAA.AAAA.AAAA'],
        ['a token in a token', () => craftSigned({ cty: 'JWT' })],
        ['an ID token', () => stage.issuer.token({}, { typ: 'JWT' })],
        ['no type', () => stage.issuer.token({}, { typ: undefined })],
        ['a logout token', () => stage.issuer.token({}, { typ: 'logout+jwt' })],
        ['a client assertion', () => stage.issuer.token({}, { typ: 'client-authentication+jwt' })],
        ['a DPoP proof', () => stage.issuer.token({}, { typ: 'dpop+jwt' })],
        ['a code or refresh token', () => 'pcr_0190f1e2a3b4c5d6.q8w7e6r5t4y3u2i1'],
      ],
      '[S-JWT-60] T092 rejects what is not an access token of this profile',
    );

    it.each(['at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/AT+jwt'])(
      '[S-JWT-60] accepts the token type %s',
      async (typ) => {
        const { send } = await serve();
        expect((await send(bearer(await stage.issuer.token({}, { typ })))).status).toBe(200);
      },
    );

    refused(
      [
        ['two segments', async () => (await stage.issuer.token()).split('.').slice(0, 2).join('.')],
        ['four segments', async () => `${await stage.issuer.token()}.AAAA`],
        ['empty segments', () => '..'],
        ['a foreign alphabet', async () => (await stage.issuer.token()).replace('.', '.+/~')],
        ['padding', async () => `${await stage.issuer.token()}==`],
        ['invalid UTF-8', () => craftSigned({}, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))],
        [
          'a byte order mark',
          () => craftSigned({}, Buffer.from(`\ufeff${JSON.stringify(goodClaims(ISSUER))}`)),
        ],
        ['a duplicate claim', () => craftSigned({}, Buffer.from(twice('aud')))],
        [
          'a duplicate header member',
          () => craftRaw('{"alg":"none","alg":"ES256","typ":"at+jwt","kid":"key-1"}'),
        ],
        ['claims that are a list', () => craftSigned({}, Buffer.from('[]'))],
        ['claims that are null', () => craftSigned({}, Buffer.from('null'))],
        ['deeply nested claims', () => craftSigned({}, Buffer.from('['.repeat(6000)))],
        ['10,000 characters', () => 'a'.repeat(10_000)],
        [
          'a header of 8,000 characters',
          () =>
            `${base64url.encode(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'k'.repeat(6000) }))}.AAAA.AAAA`,
        ],
      ],
      '[S-BEAR-67 S-VAL-3] T093 rejects a malformed token',
    );

    it.each([
      ['a token', () => 'a'.repeat(200_000)],
      ['a JWT', () => Array.from({ length: 3 }, () => 'a'.repeat(70_000)).join('.')],
      ['a header of one', () => `${'a'.repeat(200_000)}.e30.AAAA`],
    ])('T093 never passes on a request with a token of 200,000 characters: %s', async (_, make) => {
      const { send } = await serve();
      // The server may reject it before the guard, and close the connection while the rest is being sent.
      const status = await send(bearer(make())).then(
        (response) => response.status,
        () => 431,
      );
      expect([401, 431]).toContain(status);
      expect(stage.reached).toEqual([]);
      expect((await send(bearer(await stage.issuer.token()))).status).toBe(200);
    });

    it("T088 rejects a token of one resource's issuer at another resource", async () => {
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

    it('T095 rejects a revoked token at the next request, although it is cached', async () => {
      let live = true;
      const { send } = await serve({ verifier: stage.issuer.verifier({ isLive: () => live }) });
      const token = await stage.issuer.token();
      expect((await send(bearer(token))).status).toBe(200);
      expect((await send(bearer(token))).status).toBe(200);
      live = false;
      stage.forget();
      expectRefusal(await send(bearer(token)), 401, 'invalid_token');
      live = true;
      expect((await send(bearer(token))).status).toBe(200);
    });

    it('[S-BEAR-68 S-STORE-1] never writes the token to a response or an event', async () => {
      const { send } = await serve();
      const token = await stage.issuer.token({ exp: NOW - 100, sub: 'canary-subject' });
      const response = await send(bearer(token));
      expectRefusal(response, 401, 'invalid_token');
      const [, payload = ''] = token.split('.');
      for (const secret of [token, payload, 'canary-subject']) {
        expect(
          response.text + JSON.stringify([...response.headers]) + JSON.stringify(stage.events),
        ).not.toContain(secret);
      }
      expect(stage.events).toMatchObject([
        { type: 'request.rejected', status: 401, reason: 'token has expired' },
      ]);
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

    /** Signs a token as the issuer, which jose would refuse to do. */
    function craftSigned(header: Record<string, unknown>, payload?: Uint8Array): Promise<string> {
      const claims = payload ?? Buffer.from(JSON.stringify(goodClaims(ISSUER)));
      return signRaw(
        stage.issuer,
        JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'key-1', ...header }),
        claims,
      );
    }

    function craftRaw(header: string): Promise<string> {
      return signRaw(stage.issuer, header, Buffer.from(JSON.stringify(goodClaims(ISSUER))));
    }
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
