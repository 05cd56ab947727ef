/** The guard in runtimes without the APIs of Node. */
import { execFileSync } from 'node:child_process';
import { decodeBase64url } from '@portcullis/protocol';
import { base64url } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createIssuer, NOW, RESOURCE } from './support/issuer.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** Loads the guard as in a runtime with only WebCrypto. */
async function loadWithoutNode(): Promise<{
  index: typeof import('../src/index.ts');
  fetch: typeof import('../src/adapters/fetch.ts');
}> {
  vi.resetModules();
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
  const index = await import('../src/index.ts');
  const fetch = await import('../src/adapters/fetch.ts');
  return { index, fetch };
}

describe('a runtime without node:crypto', () => {
  it.each(['ES256', 'EdDSA', 'RS256'])('verifies %s tokens with WebCrypto', async (algorithm) => {
    const issuer = await createIssuer('https://as.example', algorithm);
    const [good, forged] = [await issuer.token({ name: 'Zoë' }), await forgedToken(algorithm)];
    const { index, fetch } = await loadWithoutNode();
    const verifier = index.jwtVerifier({ issuer: issuer.issuer, jwks: { keys: [issuer.publicJwk] } });
    const guard = index.createGuard({ resource: RESOURCE, verifier, clock: () => NOW, events: () => {} });
    const handle = fetch.protect(guard, (_request, { claims }) => Response.json(claims));
    const ask = (token: string): Promise<Response> =>
      handle(new Request(RESOURCE, { headers: { authorization: `Bearer ${token}` } }));
    const accepted = await ask(good);
    expect([accepted.status, await accepted.json()]).toEqual([200, expect.objectContaining({ name: 'Zoë' })]);
    expect((await ask(forged)).status).toBe(401);
    expect((await ask(`${good.slice(0, -1)}!`)).status).toBe(401);
  });
});

it('decodes base64url without Buffer', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const text = base64url.encode(bytes);
  vi.stubGlobal('Buffer', undefined);
  const decoded = [...decodeBase64url(text)];
  vi.unstubAllGlobals();
  expect(decoded).toEqual([...bytes]);
});

describe('a runtime whose requests cannot be changed', () => {
  it('[S-AUD-4] passes on a copy of an immutable request without the token, and with the body', async () => {
    const issuer = await createIssuer();
    const { createGuard } = await import('../src/index.ts');
    const { protect } = await import('../src/adapters/fetch.ts');
    const guard = createGuard({
      resource: RESOURCE,
      verifier: issuer.verifier(),
      clock: () => NOW,
      scopesFor: () => ['notes:read'],
    });
    const handle = protect(guard, async (request) =>
      Response.json({ fields: [...request.headers], body: await request.text() }),
    );
    const token = await issuer.token();
    const headers = { authorization: `Bearer ${token}`, 'x-mine': 'kept' };
    const request = new Request(RESOURCE, { method: 'POST', body: '{"method":"x"}', headers });
    vi.spyOn(request.headers, 'delete').mockImplementation(() => {
      throw new TypeError('immutable');
    });
    const text = await (await handle(request)).text();
    expect(text).not.toContain(token);
    expect(JSON.parse(text)).toEqual({
      fields: expect.arrayContaining([['x-mine', 'kept']]),
      body: '{"method":"x"}',
    });
  });
});

describe('what is loaded', () => {
  /** Returns the packages and built-in modules that an entry loads. */
  function loadedBy(entry: string): string[] {
    const script = `
      import { registerHooks } from 'node:module';
      const urls = new Set();
      registerHooks({ resolve(name, context, next) {
        const found = next(name, context);
        if (context.parentURL?.startsWith('file:')) urls.add(found.url);
        return found;
      } });
      await import(${JSON.stringify(new URL(`../src/${entry}.ts`, import.meta.url).href)});
      console.log(JSON.stringify([...urls]));`;
    const flags = ['--conditions=portcullis-source', '--input-type=module', '-e', script];
    const urls: string[] = JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' }));
    const names = urls.map(
      (url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? /^node:.*/.exec(url)?.[0],
    );
    return [...new Set(names.flatMap((name) => name ?? []))];
  }

  it.each(['index', 'adapters/fetch', 'adapters/hono', 'adapters/mcp'])(
    'loads at most jose and no Node module by the entry %s',
    (entry) => {
      expect(['', 'jose']).toContain(loadedBy(entry).join());
    },
  );

  it.each([
    'adapters/node',
    'adapters/express',
    'adapters/fastify',
    'adapters/koa',
    'dpop/sql/sql-replay-store',
  ])('loads only the guard by the entry %s', (entry) => {
    expect(loadedBy(entry)).toEqual([]);
  });
});

async function forgedToken(algorithm: string): Promise<string> {
  return (await createIssuer('https://as.example', algorithm)).token();
}
