/** Resource indicators: the canonical form, which resource a request names, and which resources a metadata document covers. */
import { canonicalResource, coversResource, findResource, resourceOfServer } from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerOf, refusalOf } from './refusal.ts';

describe('canonicalResource', () => {
  const cases: readonly { description: string; given: string; expect: string | null }[] = [
    {
      description:
        '[C-RES-8 ALL-RES-9] canonicalResource lowercases scheme and host and keeps the path as written',
      given: 'HTTPS://MCP.Example.com/Mcp',
      expect: 'https://mcp.example.com/Mcp',
    },
    {
      description: '[C-RES-10] canonicalResource writes no slash after a bare origin',
      given: 'https://mcp.example.com/',
      expect: 'https://mcp.example.com',
    },
    {
      description: 'canonicalResource keeps a trailing slash of a path',
      given: 'https://mcp.example.com/mcp/',
      expect: 'https://mcp.example.com/mcp/',
    },
    {
      description: 'canonicalResource omits the default port',
      given: 'https://mcp.example.com:443/mcp',
      expect: 'https://mcp.example.com/mcp',
    },
    {
      description: 'canonicalResource omits the default port of http',
      given: 'http://localhost:80',
      expect: 'http://localhost',
    },
    {
      description: 'canonicalResource keeps a query',
      given: 'https://a.example/mcp?t=1',
      expect: 'https://a.example/mcp?t=1',
    },
    {
      description: 'canonicalResource adds a slash before a query without a path',
      given: 'https://a.example?t=1',
      expect: 'https://a.example/?t=1',
    },
    {
      description: 'canonicalResource keeps an empty query',
      given: 'https://a.example?',
      expect: 'https://a.example/?',
    },
    {
      description: 'canonicalResource keeps an empty query after a path',
      given: 'https://a.example/m?',
      expect: 'https://a.example/m?',
    },
    {
      description: 'canonicalResource resolves dot segments',
      given: 'https://a.example/x/../mcp',
      expect: 'https://a.example/mcp',
    },
    {
      description: 'canonicalResource resolves percent-encoded dot segments',
      given: 'https://a.example/x/%2e%2E/mcp',
      expect: 'https://a.example/mcp',
    },
    {
      description: 'canonicalResource keeps a percent-encoded slash',
      given: 'https://a.example/x%2fmcp',
      expect: 'https://a.example/x%2fmcp',
    },
    {
      description: '[ALL-RES-11] T014 canonicalResource rejects a URI without a scheme',
      given: 'mcp.example.com',
      expect: null,
    },
    {
      description: '[ALL-RES-11] T014 canonicalResource rejects a relative reference',
      given: '/mcp',
      expect: null,
    },
    {
      description: '[ALL-RES-11] T014 canonicalResource rejects a fragment',
      given: 'https://mcp.example.com/#x',
      expect: null,
    },
    {
      description: '[ALL-RES-11] T014 canonicalResource rejects an empty fragment',
      given: 'https://mcp.example.com/#',
      expect: null,
    },
    {
      description: 'T014 canonicalResource rejects a javascript: URI',
      given: 'javascript:alert(1)',
      expect: null,
    },
    {
      description: 'T014 canonicalResource rejects userinfo',
      given: 'https://mcp.example@evil.example',
      expect: null,
    },
    { description: 'canonicalResource rejects a URN', given: 'urn:example:mcp', expect: null },
    { description: 'canonicalResource rejects white space', given: ' https://mcp.example.com', expect: null },
    {
      description: 'canonicalResource rejects a Unicode host',
      given: 'https://bücher.example',
      expect: null,
    },
    {
      description: 'canonicalResource rejects a percent-encoded host',
      given: 'https://mcp%2eexample.com',
      expect: null,
    },
  ];
  it.each(cases)('$description', ({ given, expect: expected }) => {
    expect(canonicalResource(given)).toBe(expected);
  });
});

describe('resourceOfServer', () => {
  it.each([
    {
      description: '[C-RES-6] resourceOfServer removes the fragment',
      given: 'https://a.example/mcp#x',
      expect: 'https://a.example/mcp',
    },
    {
      description: 'resourceOfServer cuts at the first of several number signs',
      given: 'https://a.example/#x#\ny',
      expect: 'https://a.example',
    },
    {
      description: '[C-RES-7] resourceOfServer keeps the path',
      given: 'https://h.example/server/mcp',
      expect: 'https://h.example/server/mcp',
    },
    {
      description: '[ALL-RES-11] resourceOfServer rejects a URL without a scheme',
      given: 'a.example/mcp',
      expect: null,
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(resourceOfServer(given)).toBe(expected);
  });
});

describe('findResource', () => {
  const configured = [
    'https://mcp.example',
    'https://mcp.example/notes',
    'https://mcp.example/slash/',
    'https://mcp.example/q?x=1',
  ];
  const cases: readonly { description: string; given: string; expect: string }[] = [
    {
      description: 'findResource finds the exact resource',
      given: 'https://mcp.example/notes',
      expect: 'https://mcp.example/notes',
    },
    {
      description: '[AS-RES-63 ALL-RES-9] T014 findResource finds a resource by an uppercase scheme and host',
      given: 'HTTPS://MCP.EXAMPLE',
      expect: 'https://mcp.example',
    },
    {
      description: '[AS-RES-63] T014 findResource finds a resource by a slash after the origin',
      given: 'https://mcp.example/',
      expect: 'https://mcp.example',
    },
    {
      description: 'findResource finds a resource despite an extra trailing slash',
      given: 'https://mcp.example/notes/',
      expect: 'https://mcp.example/notes',
    },
    {
      description: 'findResource finds a resource despite a missing trailing slash',
      given: 'https://mcp.example/slash',
      expect: 'https://mcp.example/slash/',
    },
    {
      description: 'findResource does not ignore a slash in a query',
      given: 'https://mcp.example/q?x=1/',
      expect: 'invalid_target',
    },
    {
      description: 'findResource rejects two trailing slashes',
      given: 'https://mcp.example/notes//',
      expect: 'invalid_target',
    },
    {
      description: '[AS-TOK-71] findResource rejects another server',
      given: 'https://other.example',
      expect: 'invalid_target',
    },
    {
      description: 'findResource rejects a path below a resource',
      given: 'https://mcp.example/notes/x',
      expect: 'invalid_target',
    },
    {
      description: 'findResource rejects another case of the path',
      given: 'https://mcp.example/Notes',
      expect: 'invalid_target',
    },
    {
      description: 'findResource rejects another port',
      given: 'https://mcp.example:8443/notes',
      expect: 'invalid_target',
    },
    {
      description: 'findResource rejects another scheme',
      given: 'http://mcp.example/notes',
      expect: 'invalid_target',
    },
    {
      description: '[ALL-RES-11 AS-RES-61] T014 findResource rejects a fragment',
      given: 'https://mcp.example#f',
      expect: 'invalid_target',
    },
    {
      description: '[ALL-RES-11 AS-RES-61] T014 findResource rejects a relative reference',
      given: 'notes',
      expect: 'invalid_target',
    },
    {
      description: 'T014 findResource rejects a javascript: URI',
      given: 'javascript:alert(1)',
      expect: 'invalid_target',
    },
    {
      description: 'T014 findResource rejects userinfo',
      given: 'https://mcp.example@evil',
      expect: 'invalid_target',
    },
  ];
  it.each(cases)('$description', ({ given, expect: expected }) => {
    expect(answerOf(() => findResource(configured, given))).toBe(expected);
  });

  it('findResource prefers an exact match to one that differs by a trailing slash', () => {
    const both = ['https://a.example/mcp', 'https://a.example/mcp/'];
    for (const resource of both) expect(findResource(both, resource)).toBe(resource);
  });

  it('findResource never repeats the requested resource in its error', () => {
    const refusal = refusalOf(() => findResource(configured, 'https://evil.example/<x>'));
    expect(refusal.message).not.toContain('evil');
  });
});

describe('coversResource', () => {
  const server = 'https://mcp.example/team/mcp';
  const cases: readonly { description: string; given: [string, string]; expect: boolean }[] = [
    { description: 'the same resource', given: [server, server], expect: true },
    {
      description: 'the same resource with the host in another case',
      given: ['HTTPS://MCP.EXAMPLE/team/mcp', server],
      expect: true,
    },
    { description: 'the origin', given: ['https://mcp.example', server], expect: true },
    { description: 'the origin with a slash', given: ['https://mcp.example/', server], expect: true },
    { description: 'a path above', given: ['https://mcp.example/team', server], expect: true },
    { description: 'a slash too many', given: ['https://mcp.example/team/mcp/', server], expect: true },
    { description: 'a slash too few', given: [server, `${server}/`], expect: true },
    {
      description: 'a path that only begins the same',
      given: ['https://mcp.example/team/mc', server],
      expect: false,
    },
    {
      description: '/mcp2 for /mcp',
      given: ['https://mcp.example/mcp2', 'https://mcp.example/mcp'],
      expect: false,
    },
    {
      description: '/mcp for /mcp-evil',
      given: ['https://mcp.example/mcp', 'https://mcp.example/mcp-evil'],
      expect: false,
    },
    { description: 'a path below', given: [`${server}/x`, server], expect: false },
    { description: 'a path beside', given: ['https://mcp.example/other', server], expect: false },
    { description: 'dot segments', given: ['https://mcp.example/team/../other', server], expect: false },
    { description: 'T104 another host', given: ['https://evil.example/team/mcp', server], expect: false },
    {
      description: 'T104 a longer host',
      given: ['https://mcp.example.evil/team/mcp', server],
      expect: false,
    },
    { description: 'T104 nothing', given: ['', server], expect: false },
    { description: 'another port', given: ['https://mcp.example:8443/team/mcp', server], expect: false },
    { description: 'another scheme', given: ['http://mcp.example/team/mcp', server], expect: false },
    { description: 'a fragment', given: [`${server}#x`, server], expect: false },
    { description: 'user info', given: ['https://mcp.example@evil.example/', server], expect: false },
    { description: 'a query of its own', given: ['https://mcp.example/team?x', server], expect: false },
    { description: 'a query of the server', given: [server, `${server}?tenant=1`], expect: true },
    { description: 'the same query', given: [`${server}?tenant=1`, `${server}?tenant=1`], expect: true },
    { description: 'another query', given: [`${server}?tenant=1`, `${server}?tenant=2`], expect: false },
  ];
  it.each(cases)(
    '[C-PRM-61] coversResource returns $expect for $description',
    ({ given: [documented, asked], expect: expected }) => {
      expect(coversResource(documented, asked)).toBe(expected);
    },
  );
});

describe('for all resources', () => {
  const resource = fc
    .tuple(
      fc.constantFrom('https://', 'HTTPS://', 'http://'),
      fc.constantFrom('a.example', 'A.Example', 'localhost', '[::1]', '[2001:DB8::0:1]'),
      fc.constantFrom('', ':443', ':80', ':8443', ':'),
      fc
        .string({ unit: fc.constantFrom('/', 'a', 'B', '.', '%2e', '%2F', '-'), maxLength: 8 })
        .map((path) => `/${path}`),
      fc.constantFrom('', '?', '?x=1', '?x=/'),
    )
    .map((parts) => parts.join(''));

  it('the canonical form of a resource is stable and identifies the same location', () => {
    fc.assert(
      fc.property(resource, (given) => {
        const canonical = canonicalResource(given) ?? '';
        expect(canonicalResource(canonical)).toBe(canonical);
        expect(new URL(canonical).href).toBe(new URL(given).href);
      }),
    );
  });

  it('finds each resource among others, covered by its origin and by itself', () => {
    fc.assert(
      fc.property(resource, fc.array(resource), (given, others) => {
        const canonical = canonicalResource(given) ?? '';
        expect(
          findResource([...others.flatMap((other) => canonicalResource(other) ?? []), canonical], given),
        ).toBe(canonical);
        expect(coversResource(given, given)).toBe(true);
        expect(coversResource(new URL(given).origin, given)).toBe(true);
      }),
    );
  });

  it('a resource covers another only with the same origin and a path that is a prefix by segments', () => {
    fc.assert(
      fc.property(resource, resource, (outer, inner) => {
        if (!coversResource(outer, inner)) return;
        const [above, below] = [new URL(outer), new URL(inner)];
        expect(above.origin).toBe(below.origin);
        const segments = (url: URL) => url.pathname.replace(/\/$/, '').split('/');
        expect(segments(below).slice(0, segments(above).length)).toEqual(segments(above));
      }),
    );
  });
});
