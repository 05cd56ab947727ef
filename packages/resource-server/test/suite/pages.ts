/** Web pages of other origins (CORS) and other host names (DNS rebinding). */
import { describe, expect, it } from 'vitest';
import { bearer, METADATA_PATH, type Options, type Stage } from './stage.ts';

export function describePages(stage: Stage): void {
  const { serve } = stage;

  describe('pages', () => {
    const LOCAL = 'http://localhost:9999/mcp';
    const local: Options = { resource: LOCAL };
    const localToken = async (): Promise<string> => stage.issuer.token({ aud: LOCAL });

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
      '[ALL-CORS-61 ALL-CORS-62] T100 responds to CORS preflights without a token: %s',
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
        expect(stage.reached).toEqual([]);
      },
    );

    it('[S-CORS-63 ALL-CORS-60] lets web pages read challenges, responses and metadata', async () => {
      const { send } = await serve({ scopes: ['x'] });
      const origin = ['origin', 'https://app.example'] as const;
      const good = await stage.issuer.token({ scope: 'x' });
      const responses = [
        await send({ headers: [origin] }),
        await send(bearer('junk', origin)),
        await send(bearer(await stage.issuer.token(), origin)),
        await send(bearer(good, origin)),
        await send(bearer(good, origin)),
      ];
      expect(responses.map(({ status }) => status)).toEqual([401, 401, 403, 200, 200]);
      for (const { headers } of responses) {
        expect(headers.get('access-control-allow-origin')).toBe('*');
        const exposed = headers.get('access-control-expose-headers')?.toLowerCase().split(', ');
        expect(exposed).toEqual(expect.arrayContaining(['www-authenticate', 'dpop-nonce', 'mcp-session-id']));
      }
      const metadata = await send({ path: METADATA_PATH, headers: [origin] });
      expect(metadata.headers.get('access-control-allow-origin')).toBe('*');
    });

    it('[S-HTTP-30 S-HTTP-33] T100 rejects requests from origins that are not allowed before it verifies the token', async () => {
      const { send } = await serve({ origins: ['https://app.example'] });
      const token = await stage.issuer.token();
      for (const sent of [
        bearer(token, ['origin', 'https://evil.example']),
        { headers: [['origin', 'https://evil.example']] as const },
      ]) {
        const response = await send(sent);
        expect([response.status, response.json['error']]).toEqual([403, 'origin_not_allowed']);
        expect(response.headers.get('www-authenticate')).toBeNull();
        expect(response.headers.get('access-control-allow-origin')).toBeNull();
      }
      expect(stage.reached).toEqual([]);
      const twin = await send(bearer(token, ['origin', 'https://app.example']));
      expect([
        twin.status,
        twin.headers.get('access-control-allow-origin'),
        twin.headers.get('vary'),
      ]).toEqual([200, 'https://app.example', 'Origin']);
      expect((await send(bearer(token))).status).toBe(200);
    });

    it.each([
      ['another origin', [['origin', 'https://evil.example']]],
      ['an origin with the same prefix', [['origin', 'http://localhost.evil.example']]],
      ['an origin with the same suffix', [['origin', 'http://evil-localhost']]],
      ['an opaque origin', [['origin', 'null']]],
      ['a malformed origin', [['origin', 'localhost']]],
      ['an origin with a path', [['origin', 'http://localhost/x']]],
      ['another host', [['host', 'evil.example']]],
      ['another host with a port', [['host', 'evil.example:9999']]],
      ['a host with the same prefix', [['host', 'localhost.evil.example']]],
      ['a host hidden before a fragment', [['host', 'evil.example#localhost']]],
      [
        'a WebSocket opened by a page of another origin',
        [
          ['origin', 'https://evil.example'],
          ['connection', 'upgrade'],
          ['upgrade', 'websocket'],
        ],
      ],
    ] as const)('[S-HTTP-30] T100 rejects requests to a loopback server from %s', async (_, headers) => {
      const { send } = await serve(local);
      const token = await localToken();
      for (const sent of [{ headers }, bearer(token, ...headers)]) {
        const response = await send(sent);
        // A framework may reject a malformed Host before the guard does.
        expect(response.status).toBe(response.text.includes('"error"') ? 403 : 400);
        expect(response.headers.get('www-authenticate')).toBeNull();
        expect(response.headers.get('access-control-allow-origin')).toBeNull();
      }
      expect(stage.reached).toEqual([]);
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
    ] as const)('T100 accepts requests to a loopback server from the same computer: %j', async (headers) => {
      const { send } = await serve(local);
      const response = await send(bearer(await localToken(), ...headers));
      expect(response.status).toBe(200);
      const [, origin] = headers;
      expect(response.headers.get('access-control-allow-origin')).toBe(origin?.[1] ?? null);
    });

    it('[S-HTTP-30] T100 rejects loopback origins if the allowed origins are listed without them', async () => {
      const { send } = await serve({ ...local, origins: ['https://app.example'] });
      const from = async (origin: string): Promise<number> =>
        (await send(bearer(await localToken(), ['host', 'localhost:9999'], ['origin', origin]))).status;
      expect(await from('http://localhost:5173')).toBe(403);
      expect(await from('https://app.example')).toBe(200);
      expect(await from('http://localhost:9999')).toBe(200);
    });

    it('T100 accepts requests to a loopback server by a host name that is listed', async () => {
      const { send } = await serve({ ...local, hosts: ['tunnel.example'] });
      const by = async (host: string): Promise<number> =>
        (await send(bearer(await localToken(), ['host', host]))).status;
      expect([await by('tunnel.example'), await by('localhost'), await by('evil.example')]).toEqual([
        200, 200, 403,
      ]);
    });

    it('[S-LOCAL-40] requires a token at a loopback server too', async () => {
      const { send } = await serve(local);
      expect((await send({ headers: [['host', 'localhost']] })).status).toBe(401);
      expect(stage.reached).toEqual([]);
    });

    it('T100 responds to preflights of other origins without allowing anything', async () => {
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
}
