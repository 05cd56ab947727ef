/** Logos of clients: only of those that the operator configured, fetched by this server, small and of a known type. */
import { describe, expect, it } from 'vitest';
import { CLIENTS } from './server-under-test.ts';
import { requestOf, type Scene, setScene } from './visitor.ts';

const LOGO = 'https://cdn.example/logo.png';
const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const PATH = '/logos/bG9nb2Vk';

/** A server with a configured client that has a logo, and the requests for it. */
async function scene(respond: () => Response): Promise<Scene & { readonly fetched: string[] }> {
  const fetched: string[] = [];
  const t = await setScene({
    clients: [
      ...CLIENTS,
      {
        client_id: 'logoed',
        client_name: 'Logo App',
        redirect_uris: ['https://app.example/callback'],
        token_endpoint_auth_method: 'none',
        logo_uri: LOGO,
      },
    ],
    outbound: {
      fetch: async (url) => {
        fetched.push(String(url));
        return respond();
      },
    },
  });
  return { ...t, fetched };
}

const get = (t: Scene, path: string) => t.server.handle(new Request(`https://as.example${path}`));

describe('the logo of a client', () => {
  it('a logo of a configured client is shown from this origin, and fetched once', async () => {
    const t = await scene(() => new Response(PNG));
    const consent = await t.visitor.signIn(requestOf({ client_id: 'logoed' }));
    expect(consent.html).toContain(`<img class="monogram" src="${PATH}" alt=""`);
    expect(consent.html).not.toContain('cdn.example');
    expect(consent.headers.get('content-security-policy')).toContain("img-src 'self'");
    const [first, second] = await Promise.all([get(t, PATH), get(t, PATH)]);
    expect(new Uint8Array(await first.arrayBuffer())).toEqual(PNG);
    expect([first.status, first.headers.get('content-type'), second.status]).toEqual([200, 'image/png', 200]);
    expect(first.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    expect(first.headers.get('x-content-type-options')).toBe('nosniff');
    expect(t.fetched).toEqual([LOGO]);
  });

  it.each([
    ['is missing', () => new Response('no', { status: 404 })],
    ['redirects', () => new Response(null, { status: 302, headers: { location: 'https://other.example/' } })],
    ['is an SVG', () => new Response('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['is a page', () => new Response('<!doctype html>', { headers: { 'content-type': 'image/png' } })],
    ['is larger than 64 KiB', () => new Response(new Uint8Array([...PNG, ...new Uint8Array(65_536)]))],
    ['cannot be reached', () => Promise.reject(new Error('refused')) as never],
  ])(
    'a monogram stands in for a logo that %s, and it is not fetched again at once',
    async (_what, respond) => {
      const t = await scene(respond);
      for (let times = 0; times < 2; times += 1) {
        const response = await get(t, PATH);
        expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
        expect(await response.text()).toMatch(/^<svg xmlns=.*>LA<\/text><\/svg>$/);
      }
      expect(t.fetched).toHaveLength(1);
      t.clock.now += 601;
      await get(t, PATH);
      expect(t.fetched).toHaveLength(2);
    },
  );

  it('logos of apps that registered themselves are neither shown nor fetched, nor is anything for other paths', async () => {
    const t = await scene(() => new Response(PNG));
    const redirect_uri = 'https://c.example/cb';
    const client_id = await t.registerClient({ redirect_uris: [redirect_uri], logo_uri: LOGO });
    const consent = await t.visitor.signIn(requestOf({ client_id, redirect_uri }));
    expect(consent.html).not.toMatch(/<img|cdn\.example/);
    const ids = [client_id, 'unknown', 'https://app.example/client.json', 'a\0b', ''];
    for (const id of ids) {
      const response = await get(t, `/logos/${Buffer.from(id).toString('base64url')}`);
      expect([id, response.status]).toEqual([id, 404]);
    }
    expect(t.fetched).toEqual([]);
  });
});
