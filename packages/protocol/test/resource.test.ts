/** Resource indicators: the canonical form, what a request names, and what a document may speak for. */
import { canonicalResource, coversResource, findResource, resourceOfServer } from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerOf, refusalOf } from './refusal.ts';

describe('canonicalResource', () => {
  const cases: readonly { description: string; given: string; expect: string | null }[] = [
    {
      description: '[C-RES-8 ALL-RES-9] lowercase scheme and host, path as written',
      given: 'HTTPS://MCP.Example.com/Mcp',
      expect: 'https://mcp.example.com/Mcp',
    },
    {
      description: '[C-RES-10] no slash after a bare origin',
      given: 'https://mcp.example.com/',
      expect: 'https://mcp.example.com',
    },
    {
      description: 'a slash at the end of a path has meaning',
      given: 'https://mcp.example.com/mcp/',
      expect: 'https://mcp.example.com/mcp/',
    },
    {
      description: 'the default port is left out',
      given: 'https://mcp.example.com:443/mcp',
      expect: 'https://mcp.example.com/mcp',
    },
    { description: 'the default port of http', given: 'http://localhost:80', expect: 'http://localhost' },
    { description: 'a query stays', given: 'https://a.example/mcp?t=1', expect: 'https://a.example/mcp?t=1' },
    { description: 'a query without path', given: 'https://a.example?t=1', expect: 'https://a.example/?t=1' },
    { description: 'an empty query is a query', given: 'https://a.example?', expect: 'https://a.example/?' },
    {
      description: 'an empty query after a path',
      given: 'https://a.example/m?',
      expect: 'https://a.example/m?',
    },
    {
      description: 'dot segments are resolved',
      given: 'https://a.example/x/../mcp',
      expect: 'https://a.example/mcp',
    },
    {
      description: 'encoded dot segments too',
      given: 'https://a.example/x/%2e%2E/mcp',
      expect: 'https://a.example/mcp',
    },
    {
      description: 'an encoded slash is not a slash',
      given: 'https://a.example/x%2fmcp',
      expect: 'https://a.example/x%2fmcp',
    },
    { description: '[ALL-RES-11] T014 no scheme', given: 'mcp.example.com', expect: null },
    { description: '[ALL-RES-11] T014 relative', given: '/mcp', expect: null },
    { description: '[ALL-RES-11] T014 a fragment', given: 'https://mcp.example.com/#x', expect: null },
    { description: '[ALL-RES-11] T014 an empty fragment', given: 'https://mcp.example.com/#', expect: null },
    { description: 'T014 a script', given: 'javascript:alert(1)', expect: null },
    { description: 'T014 user info', given: 'https://mcp.example@evil.example', expect: null },
    { description: 'a URN', given: 'urn:example:mcp', expect: null },
    { description: 'white space', given: ' https://mcp.example.com', expect: null },
    { description: 'a Unicode host', given: 'https://bücher.example', expect: null },
    { description: 'a percent-encoded host', given: 'https://mcp%2eexample.com', expect: null },
  ];
  it.each(cases)('$description', ({ given, expect: expected }) => {
    expect(canonicalResource(given)).toBe(expected);
  });
});

describe('resourceOfServer', () => {
  it.each([
    {
      description: '[C-RES-6] cuts a fragment off',
      given: 'https://a.example/mcp#x',
      expect: 'https://a.example/mcp',
    },
    {
      description: 'cuts at the first of several',
      given: 'https://a.example/#x#\ny',
      expect: 'https://a.example',
    },
    {
      description: '[C-RES-7] keeps the path',
      given: 'https://h.example/server/mcp',
      expect: 'https://h.example/server/mcp',
    },
    { description: '[ALL-RES-11] needs a scheme', given: 'a.example/mcp', expect: null },
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
    { description: 'the exact one', given: 'https://mcp.example/notes', expect: 'https://mcp.example/notes' },
    {
      description: '[AS-RES-63 ALL-RES-9] T014 uppercase scheme and host',
      given: 'HTTPS://MCP.EXAMPLE',
      expect: 'https://mcp.example',
    },
    {
      description: '[AS-RES-63] T014 a slash after the origin',
      given: 'https://mcp.example/',
      expect: 'https://mcp.example',
    },
    {
      description: 'a slash too many',
      given: 'https://mcp.example/notes/',
      expect: 'https://mcp.example/notes',
    },
    {
      description: 'a slash too few',
      given: 'https://mcp.example/slash',
      expect: 'https://mcp.example/slash/',
    },
    {
      description: 'a slash in a query counts',
      given: 'https://mcp.example/q?x=1/',
      expect: 'invalid_target',
    },
    { description: 'two slashes', given: 'https://mcp.example/notes//', expect: 'invalid_target' },
    { description: '[AS-TOK-71] another server', given: 'https://other.example', expect: 'invalid_target' },
    { description: 'a path below', given: 'https://mcp.example/notes/x', expect: 'invalid_target' },
    { description: 'another case of the path', given: 'https://mcp.example/Notes', expect: 'invalid_target' },
    { description: 'another port', given: 'https://mcp.example:8443/notes', expect: 'invalid_target' },
    { description: 'another scheme', given: 'http://mcp.example/notes', expect: 'invalid_target' },
    {
      description: '[ALL-RES-11 AS-RES-61] T014 a fragment',
      given: 'https://mcp.example#f',
      expect: 'invalid_target',
    },
    { description: '[ALL-RES-11 AS-RES-61] T014 relative', given: 'notes', expect: 'invalid_target' },
    { description: 'T014 a script', given: 'javascript:alert(1)', expect: 'invalid_target' },
    { description: 'T014 user info', given: 'https://mcp.example@evil', expect: 'invalid_target' },
  ];
  it.each(cases)('$description', ({ given, expect: expected }) => {
    expect(answerOf(() => findResource(configured, given))).toBe(expected);
  });

  it('prefers the exact one to one that differs by a slash', () => {
    const both = ['https://a.example/mcp', 'https://a.example/mcp/'];
    for (const resource of both) expect(findResource(both, resource)).toBe(resource);
  });

  it('never repeats what was sent', () => {
    const refusal = refusalOf(() => findResource(configured, 'https://evil.example/<x>'));
    expect(refusal.message).not.toContain('evil');
  });
});

describe('coversResource', () => {
  const server = 'https://mcp.example/team/mcp';
  const cases: readonly { description: string; given: [string, string]; expect: boolean }[] = [
    { description: 'the same', given: [server, server], expect: true },
    {
      description: 'the same but for case of the host',
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
  it.each(cases)('[C-PRM-61] $description: $expect', ({ given: [documented, asked], expect: expected }) => {
    expect(coversResource(documented, asked)).toBe(expected);
  });
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

  it('the canonical form is its own canonical form, and the same place', () => {
    fc.assert(
      fc.property(resource, (given) => {
        const canonical = canonicalResource(given) ?? '';
        expect(canonicalResource(canonical)).toBe(canonical);
        expect(new URL(canonical).href).toBe(new URL(given).href);
      }),
    );
  });

  it('each is found among others, and covered by its origin and itself', () => {
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

  it('what covers has the same origin, and a path that is a prefix by segments', () => {
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
