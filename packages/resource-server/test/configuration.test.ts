import { describe, expect, it, vi } from 'vitest';
import { ConfigurationError, createGuard, type GuardOptions, type TokenVerifier } from '../src/index.ts';

const verifier: TokenVerifier = {
  issuers: ['https://as.example'],
  verify: () => {
    throw new Error('never asked');
  },
};

describe('the configuration of a guard', () => {
  it.each<[string, Partial<GuardOptions> & object, RegExp]>([
    [
      '[ALL-RES-11] a resource without a scheme',
      { resource: 'mcp.example.com' },
      /resource must be an absolute https URI/,
    ],
    [
      '[ALL-RES-11] a resource with a fragment',
      { resource: 'https://mcp.example.com#fragment' },
      /without a fragment/,
    ],
    ['[ALL-HTTP-62] a plain http resource', { resource: 'http://mcp.example.com' }, /must use https/],
    ['[S-PRM-2] no authorization server', { authorizationServers: [] }, /at least one/],
    ['an authorization server that is no URL', { authorizationServers: ['as'] }, /absolute https URL/],
    [
      '[ALL-HTTP-62] a plain http authorization server',
      { authorizationServers: ['http://as.example'] },
      /must use https/,
    ],
    ['a scope with a quote', { scopes: ['a"b'] }, /is not a scope/],
    ['[S-REFRESH-30] offline_access', { defaultScopes: ['offline_access'] }, /offline_access/],
    ['a hierarchy of broken scopes', { hierarchy: { 'a b': ['c'] } }, /is not a scope/],
    ['no verifier', { verifier: undefined } as object, /verifier is missing/],
    [
      'a clock tolerance that is no number',
      { clockTolerance: Number.NaN },
      /clockTolerance must be a whole number/,
    ],
    ['a negative memory', { tokenCacheSize: -1 }, /tokenCacheSize/],
    ['a stream that ends before its token', { streams: { grace: -1 } }, /streams\.grace/],
    ['a stream that is looked at all the time', { streams: { every: 0 } }, /streams\.every/],
    ['a stream that no timer could end', { streams: { every: 100_000 } }, /streams\.every/],
    // By `process.env`, say: text that would be joined to a time, and make a bound that never comes.
    ['a grace that is text', { streams: { grace: '300' } } as object, /streams\.grace must be a number/],
    ['a pause that is text', { streams: { every: '10' } } as object, /streams\.every/],
    ['a window that is text', { dpop: { window: '300' } } as object, /dpop\.window must be a number/],
    ['scopes that are no list', { scopes: 'notes:read' } as object, /scopes must be lists/],
    ['origins that are no list', { origins: 'https://app.example' } as object, /origins must be 'any' or/],
    ['an origin with a path', { origins: ['https://app.example/'] }, /is not an origin/],
    ['an origin with its usual port', { origins: ['https://app.example:443'] }, /is not an origin/],
    ['a host with a port', { hosts: ['tunnel.example:443'] }, /without a port/],
    ['no resource', { resources: [] }, /at least one protected resource/],
    [
      'two resources at one path',
      { resources: [{ resource: 'https://a.example/mcp' }, { resource: 'https://b.example/MCP' }] },
      /same path/,
    ],
  ])('rejects the options of a guard with %s', (_, options, message) => {
    const whole = { resource: 'https://api.example/mcp', verifier, ...options } as GuardOptions;
    expect(() => createGuard(whole)).toThrow(ConfigurationError);
    expect(() => createGuard(whole)).toThrow(message);
  });

  it('accepts origins of the web and of editors, and host names', () => {
    const origins = ['https://app.example', 'http://app.example:8080', 'vscode-webview://app'];
    const hosts = ['tunnel.example', '[2001:db8::1]'];
    expect(() =>
      createGuard({ resource: 'https://api.example/mcp', verifier, origins, hosts }),
    ).not.toThrow();
  });

  it('reports every issue at once, with its path', () => {
    const resources = [{ resource: 'nowhere' }, { resource: 'https://api.example', scopes: ['"'] }];
    expect(() => createGuard({ resources, verifier, clockTolerance: -1 })).toThrow(
      /3 issues: resources\.0\.resource .*resources\.1\.scopes: .*clockTolerance/,
    );
  });

  it.each([
    ['https://mcp.example.com/mcp', 'https://mcp.example.com/mcp'],
    ['https://mcp.example.com', 'https://mcp.example.com'],
    ['https://mcp.example.com/', 'https://mcp.example.com'],
    ['https://mcp.example.com:8443', 'https://mcp.example.com:8443'],
    ['https://mcp.example.com/server/mcp', 'https://mcp.example.com/server/mcp'],
    ['HTTPS://MCP.Example.com/mcp', 'https://mcp.example.com/mcp'],
    ['http://localhost:3000/mcp', 'http://localhost:3000/mcp'],
  ])('[ALL-RES-9 S-PRM-60] accepts the resource %s', (resource, canonical) => {
    expect(createGuard({ resource, verifier }).resources).toEqual([canonical]);
  });

  it.each([
    ['https://ex.com/public/mcp', '/.well-known/oauth-protected-resource/public/mcp'],
    ['https://ex.com', '/.well-known/oauth-protected-resource'],
    ['https://ex.com/', '/.well-known/oauth-protected-resource'],
  ])('[S-PRM-61] serves the metadata of %s at %s', (resource, path) => {
    const guard = createGuard({ resource, verifier });
    const requestInfo = { method: 'GET', authorization: null };
    const answer = guard.publicResponse({ ...requestInfo, url: path });
    expect(answer?.status).toBe(200);
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ resource: guard.resources[0] });
    expect(guard.publicResponse({ ...requestInfo, url: `https://ex.com${path}?x=1` })).toEqual(answer);
  });
});

it('T098 sends the same response if the event sink fails', async () => {
  const complaints = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const guard = createGuard({
    resource: 'https://api.example/mcp',
    verifier,
    events: () => {
      throw new Error('full disk');
    },
  });
  const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: 'Bearer x y' });
  expect(decision).toMatchObject({ authorized: false, response: { status: 400 } });
  expect(complaints).toHaveBeenCalledOnce();
  complaints.mockRestore();
});
