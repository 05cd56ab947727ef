/** Redirect URIs: which may be registered, which match, and which are accepted. */

import {
  checkRedirectUri,
  isLoopbackHost,
  matchesRedirectUri,
  type RedirectPolicy,
  validateRedirectUri,
} from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webUrl } from '../../../tests/support/any-text.ts';
import { readUrl } from '../src/parsing/web-url.ts';
import { answerOf, refusalOf } from './refusal.ts';

const scripts = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\tscript:alert(1)',
  'java\nscript:alert(1)',
  '\u0000javascript:alert(1)',
  '\u00a0javascript:alert(1)',
  'javascript://c.example/%0aalert(1)',
  'data:text/html,<script>alert(1)</script>',
  'data:text/html;base64,PHNjcmlwdD4=',
  'vbscript:msgbox(1)',
  'blob:https://c.example/7f3a',
  'file:///etc/passwd',
  'filesystem:https://c.example/x',
  'view-source:https://c.example/',
  'about:blank',
  'intent://scan/#Intent;scheme=zxing;end',
];

describe('validateRedirectUri', () => {
  const good: readonly { given: string; expect: string }[] = [
    { given: 'https://c.example/cb', expect: 'https' },
    { given: 'https://c.example', expect: 'https' },
    { given: 'https://c.example:8443/cb?x=1', expect: 'https' },
    { given: 'https://xn--e1awd7f.example/cb', expect: 'https' },
    { given: `https://c.example/${'a'.repeat(1982)}`, expect: 'https' },
    { given: 'https://vscode.dev/redirect', expect: 'https' },
    { given: 'http://localhost:3000/callback', expect: 'loopback' },
    { given: 'http://localhost/callback', expect: 'loopback' },
    { given: 'http://127.0.0.1:33418', expect: 'loopback' },
    { given: 'http://127.0.0.1/', expect: 'loopback' },
    { given: 'http://[::1]:51004/cb?x=1', expect: 'loopback' },
  ];
  it.each(good)('[AS-REDIR-5] validateRedirectUri accepts $given: $expect', ({ given, expect: expected }) => {
    expect(validateRedirectUri(given)).toEqual({ kind: expected });
  });

  it.each([
    ['https://as.example', 'https://as.example/callback', 'dangerous'],
    ['https://as.example', 'https://as.example:443/callback', 'dangerous'],
    ['https://as.example/', 'https://as.example/callback', 'dangerous'],
    ['https://AS.example', 'https://as.example/callback', 'dangerous'],
    ['https://as.example:443', 'https://as.example/callback', 'dangerous'],
    ['https://as.example/', 'https://app.example/callback', 'https'],
    ['https://as.example', 'https://as.example:8443/callback', 'https'],
    ['https://as.example', 'https://app.as.example/callback', 'https'],
    ['http://127.0.0.1:8484', 'http://127.0.0.1:8484/callback', 'dangerous'],
    ['http://127.0.0.1:8484', 'http://localhost:8484/callback', 'dangerous'],
    ['http://localhost:8484', 'http://[::1]:8484/callback', 'dangerous'],
    ['http://127.0.0.1:8484', 'http://127.0.0.1:08484/callback', 'dangerous'],
    ['http://127.0.0.1:8484', 'http://127.0.0.1:08485/callback', 'loopback'],
    ['http://127.0.0.1:8484', 'http://127.0.0.1:8485/callback', 'loopback'],
    ['http://127.0.0.1:8484', 'http://127.0.0.1/callback', 'loopback'],
    ['http://127.0.0.1:8484', 'https://localhost:8484/callback', 'https'],
    ['https://localhost:8484', 'https://app.example:8484/callback', 'https'],
    ['https://as.example:8484', 'https://localhost:8484/callback', 'https'],
  ])('validateRedirectUri, for a server at %s: %s is %s', (ownOrigin, given, expected) => {
    expect(validateRedirectUri(given, { privateUseSchemes: [], ownOrigin }).kind).toBe(expected);
  });

  it.each(scripts)('[AS-REDIR-5] T005 T037 validateRedirectUri condemns %j, whatever the policy', (given) => {
    const schemes = [
      'javascript',
      'data',
      'vbscript',
      'blob',
      'file',
      'filesystem',
      'view-source',
      'about',
      'intent',
    ];
    for (const policy of [undefined, { privateUseSchemes: schemes }]) {
      expect(validateRedirectUri(given, policy).kind).toBe('dangerous');
    }
  });

  const bad: readonly { description: string; given: string; expect: string }[] = [
    {
      description: '[AS-REDIR-5] T038 validateRedirectUri condemns plain http',
      given: 'http://c.example/cb',
      expect: 'must use https',
    },
    {
      description: '[AS-REDIR-5] validateRedirectUri condemns plain http to a host',
      given: 'http://evil.example/cb',
      expect: 'must use https',
    },
    {
      description: '[AS-REDIR-20] T038 validateRedirectUri condemns a relative reference',
      given: '/cb',
      expect: 'absolute',
    },
    {
      description: '[AS-REDIR-20] validateRedirectUri condemns a scheme-relative reference',
      given: '//c.example/cb',
      expect: 'absolute',
    },
    {
      description: '[AS-REDIR-20] T038 validateRedirectUri condemns an empty string',
      given: '',
      expect: 'absolute',
    },
    {
      description: '[AS-REDIR-20] T038 validateRedirectUri condemns a fragment',
      given: 'https://c.example/cb#f',
      expect: 'fragment',
    },
    {
      description: '[AS-REDIR-20] validateRedirectUri condemns an empty fragment',
      given: 'https://c.example/cb#',
      expect: 'fragment',
    },
    {
      description: '[AS-REDIR-20] T038 validateRedirectUri condemns a wildcard host',
      given: 'https://*.c.example',
      expect: 'wildcard',
    },
    {
      description: '[AS-REDIR-20] validateRedirectUri condemns a wildcard path',
      given: 'https://c.example/*',
      expect: 'wildcard',
    },
    {
      description: 'T038 validateRedirectUri condemns user info',
      given: 'https://u:p@c.example/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns empty user info',
      given: 'https://@c.example/cb',
      expect: 'well-formed',
    },
    {
      description: 'T038 validateRedirectUri condemns a URI of 100 KB',
      given: `https://c.example/${'a'.repeat(100_000)}`,
      expect: 'characters long',
    },
    {
      description: 'validateRedirectUri condemns a URI that is one character too long',
      given: `https://c.example/${'a'.repeat(1983)}`,
      expect: 'characters long',
    },
    {
      description: 'validateRedirectUri condemns a URI without a host',
      given: 'https://',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a path without a host',
      given: 'https:///evil.example/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a URI without slashes after the scheme',
      given: 'https:c.example/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a backslash',
      given: 'https://evil.example\\@c.example/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a leading space',
      given: ' https://c.example/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a line break',
      given: 'https://c.example/cb\r\nSet-Cookie: x',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a Unicode host',
      given: 'https://с.example/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a full-width dot',
      given: 'https://c\uff0eexample/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a percent-encoded host',
      given: 'https://c.example%2eevil.test/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a shortened address',
      given: 'http://127.1/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a hexadecimal address',
      given: 'http://0x7f.1/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns a numeric address',
      given: 'http://2130706433/cb',
      expect: 'well-formed',
    },
    {
      description: 'validateRedirectUri condemns another loopback address',
      given: 'http://127.0.0.2/cb',
      expect: 'must use https',
    },
    {
      description: 'validateRedirectUri condemns a host that begins like loopback',
      given: 'http://127.0.0.1.evil.test/cb',
      expect: 'must use https',
    },
    {
      description: 'validateRedirectUri condemns a host that begins like localhost',
      given: 'http://localhost.evil.test/cb',
      expect: 'must use https',
    },
    {
      description: 'validateRedirectUri condemns localhost with a dot',
      given: 'http://localhost./cb',
      expect: 'host written plainly',
    },
    {
      description: 'validateRedirectUri condemns the unspecified address',
      given: 'http://0.0.0.0:3000/cb',
      expect: 'must use https',
    },
    {
      description: 'validateRedirectUri condemns loopback as user info',
      given: 'http://localhost:80@attacker.test/cb',
      expect: 'well-formed',
    },
    {
      description: '[AS-AUTHZ-77] validateRedirectUri condemns a code in the query',
      given: 'https://c.example/cb?code=x',
      expect: 'parameters',
    },
    {
      description: '[AS-AUTHZ-77] validateRedirectUri condemns a percent-encoded code in the query',
      given: 'https://c.example/cb?a=b&%73tate=x',
      expect: 'parameters',
    },
    {
      description: '[AS-AUTHZ-77] validateRedirectUri condemns an iss in the query',
      given: 'http://localhost/cb?iss',
      expect: 'parameters',
    },
  ];
  it.each(bad)('$description', ({ given, expect: expected }) => {
    const result = validateRedirectUri(given);
    expect(result).toEqual({ kind: 'dangerous', reason: expect.stringContaining(expected) });
  });

  describe('with private-use schemes', () => {
    const policy = { privateUseSchemes: ['cursor', 'Com.Example.App', 'https', 'http'] };
    const exact = {
      privateUseSchemes: [],
      privateUseUris: ['app.example:/cb', /editor:\/\/extension\/cb\/[0-9a-f]+/],
    };
    it.each<{ description: string; given: Parameters<typeof validateRedirectUri>; expect: string }>([
      {
        description: 'validateRedirectUri refuses a private-use scheme by default',
        given: ['com.example.app:/cb'],
        expect: 'refused',
      },
      {
        description: 'validateRedirectUri refuses a private-use scheme with a host by default',
        given: ['myapp://cb'],
        expect: 'refused',
      },
      {
        description: 'validateRedirectUri accepts an allowed private-use scheme',
        given: ['cursor://host/cb', policy],
        expect: 'private-use',
      },
      {
        description: 'validateRedirectUri accepts an allowed private-use scheme in any case',
        given: ['COM.EXAMPLE.APP:/cb', policy],
        expect: 'private-use',
      },
      {
        description: 'validateRedirectUri refuses a private-use scheme that is not allowed',
        given: ['cursors://host/cb', policy],
        expect: 'refused',
      },
      {
        description: 'validateRedirectUri accepts a single allowed private-use URI',
        given: ['app.example:/cb', exact],
        expect: 'private-use',
      },
      {
        description: 'validateRedirectUri accepts a private-use URI that matches a whole pattern',
        given: ['editor://extension/cb/12ab', exact],
        expect: 'private-use',
      },
      ...['app.example:/cb2', 'app.example:/', 'editor://extension/cb/12ab/x', 'editor://other/cb/12ab'].map(
        (uri) => ({
          description: `validateRedirectUri refuses ${uri}, which only resembles an allowed URI`,
          given: [uri, exact] as [string, RedirectPolicy],
          expect: 'refused',
        }),
      ),
      {
        description: 'validateRedirectUri never allows a dangerous scheme, whatever URIs are allowed',
        given: [
          'javascript:alert(1)',
          { privateUseSchemes: [], privateUseUris: ['javascript:alert(1)', /.*/] },
        ],
        expect: 'dangerous',
      },
      {
        description: 'validateRedirectUri never allows http as a private-use scheme',
        given: ['http://c.example/cb', policy],
        expect: 'dangerous',
      },
      {
        description: 'validateRedirectUri condemns a malformed private-use URI',
        given: ['cursor://u@host/cb', policy],
        expect: 'dangerous',
      },
      {
        description: 'validateRedirectUri condemns a fragment in a private-use URI',
        given: ['cursor://host/cb#f', policy],
        expect: 'dangerous',
      },
    ])('[AS-REDIR-24] $description', ({ given, expect: expected }) => {
      expect(validateRedirectUri(...given).kind).toBe(expected);
    });
  });
});

/** What differs from `https://c.example/cb` in something, however little. */
const mutations = [
  'https://c.example/cb/',
  'https://c.example/CB',
  'HTTPS://c.example/cb',
  'https://C.EXAMPLE/cb',
  'https://c.example:443/cb',
  'https://c.example:8443/cb',
  'https://c.example/cb?x=1',
  'https://c.example/cb?',
  'https://c.example/cb#f',
  'https://c.example/./cb',
  'https://c.example/x/../cb',
  'https://c.example/x/..;/cb',
  'https://c.example/%63b',
  'https://c.example%2fcb',
  'https://c.example./cb',
  'https://c.example.evil.test/cb',
  'https://c.example%2eevil.test/cb',
  'https://evil.test\\@c.example/cb',
  'https://c.example@evil.test/cb',
  ' https://c.example/cb',
  '\thttps://c.example/cb',
  'https://c.example/cb ',
  'https://c.example/\ncb',
  'https://c.example/cb%00',
  'https://с.example/cb',
  'https://c\uff0eexample/cb',
  'https:/c.example/cb',
  'https:\\\\c.example\\cb',
  'http://c.example/cb',
  '',
];

describe('matchesRedirectUri', () => {
  it('[AS-REDIR-1] matchesRedirectUri accepts a redirect URI that is identical byte for byte', () => {
    expect(matchesRedirectUri('https://c.example/cb', 'https://c.example/cb')).toBe(true);
  });

  it.each(mutations)(
    '[AS-REDIR-1 AS-REDIR-23] T002 matchesRedirectUri rejects %j for https://c.example/cb',
    (given) => {
      expect(matchesRedirectUri('https://c.example/cb', given)).toBe(false);
      expect(answerOf(() => checkRedirectUri(['https://c.example/cb'], given))).toBe('invalid_request');
    },
  );

  const disguises = [
    'http://localhost:80@attacker.test/cb',
    'http://127.0.0.1@evil/cb',
    'http://127.0.0.1:80@evil/cb',
    'http://a@b@localhost/cb',
    'http://user@localhost/cb',
    'http://localhost%40evil/cb',
    'http://localhost\\@evil/cb',
    'http://localhost:80\\@evil/cb',
    'http://localhost:@evil/cb',
    'http://localhost:1:2/cb',
    'http://localhost:/cb',
    'http://localhost:99999/cb',
    'http://localhost:+80/cb',
    'http://localhost:8０/cb',
    'http://localhost#@evil/cb',
  ];
  it.each(disguises)(
    '[AS-REDIR-21] T003 matchesRedirectUri rejects %j for a loopback redirect URI',
    (given) => {
      for (const registered of ['http://127.0.0.1/cb', 'http://localhost/cb']) {
        expect(matchesRedirectUri(registered, given)).toBe(false);
        expect(answerOf(() => checkRedirectUri([registered], given))).toBe('invalid_request');
      }
    },
  );

  const loopback: readonly { description: string; given: [string, string]; expect: boolean }[] = [
    {
      description: 'another port',
      given: ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:51004/cb'],
      expect: true,
    },
    {
      description: 'a port left out',
      given: ['http://127.0.0.1:3000/cb', 'http://127.0.0.1/cb'],
      expect: true,
    },
    {
      description: '[AS-REDIR-26] a port added',
      given: ['http://127.0.0.1/cb', 'http://127.0.0.1:51004/cb'],
      expect: true,
    },
    {
      description: '[AS-REDIR-26] a port added to localhost',
      given: ['http://localhost/callback', 'http://localhost:3118/callback'],
      expect: true,
    },
    {
      description: '[AS-REDIR-22] another port of localhost',
      given: ['http://localhost:1/cb', 'http://localhost:2/cb'],
      expect: true,
    },
    {
      description: '[AS-REDIR-22] another port of [::1]',
      given: ['http://[::1]:1/cb', 'http://[::1]:2/cb'],
      expect: true,
    },
    {
      description: 'another port and no path',
      given: ['http://127.0.0.1:33418', 'http://127.0.0.1:40000'],
      expect: true,
    },
    {
      description: 'another port and a query',
      given: ['http://localhost:1/cb?x=1', 'http://localhost:2/cb?x=1'],
      expect: true,
    },
    {
      description: 'the highest port',
      given: ['http://localhost:1/cb', 'http://localhost:65535/cb'],
      expect: true,
    },
    {
      description: 'a port too high',
      given: ['http://localhost:1/cb', 'http://localhost:65536/cb'],
      expect: false,
    },
    {
      description: 'a path of two slashes',
      given: ['http://localhost:1//evil.test', 'http://localhost:2//evil.test'],
      expect: true,
    },
    {
      description: 'another path',
      given: ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000/cb/'],
      expect: false,
    },
    {
      description: 'a slash added',
      given: ['http://127.0.0.1:3000', 'http://127.0.0.1:3001/'],
      expect: false,
    },
    {
      description: 'a query added',
      given: ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3001/cb?x=1'],
      expect: false,
    },
    { description: 'https', given: ['http://127.0.0.1:3000/cb', 'https://127.0.0.1:3000/cb'], expect: false },
    {
      description: '127.0.0.2',
      given: ['http://127.0.0.1:3000/cb', 'http://127.0.0.2:3000/cb'],
      expect: false,
    },
    {
      description: '[AS-REDIR-22] localhost for 127.0.0.1',
      given: ['http://127.0.0.1:3000/cb', 'http://localhost:3000/cb'],
      expect: false,
    },
    {
      description: '[AS-REDIR-22] [::1] for 127.0.0.1',
      given: ['http://127.0.0.1:3000/cb', 'http://[::1]:3000/cb'],
      expect: false,
    },
    { description: '127.1', given: ['http://127.0.0.1:3000/cb', 'http://127.1:3000/cb'], expect: false },
    { description: '0x7f.1', given: ['http://127.0.0.1:3000/cb', 'http://0x7f.1:3000/cb'], expect: false },
    {
      description: 'a longer host',
      given: ['http://127.0.0.1:3000/cb', 'http://127.0.0.1.evil.test:3000/cb'],
      expect: false,
    },
    {
      description: 'a longer localhost',
      given: ['http://localhost:3000/cb', 'http://localhost.evil.test:3000/cb'],
      expect: false,
    },
    {
      description: 'uppercase',
      given: ['http://localhost:3000/cb', 'http://LOCALHOST:3000/cb'],
      expect: false,
    },
    {
      description: '[AS-REDIR-23] another port of a host',
      given: ['http://c.example:3000/cb', 'http://c.example:3001/cb'],
      expect: false,
    },
    {
      description: '[AS-REDIR-23] another port of https loopback',
      given: ['https://localhost:1/cb', 'https://localhost:2/cb'],
      expect: false,
    },
    {
      description: 'another port in a private-use URI',
      given: ['cursor://localhost:1/cb', 'cursor://localhost:2/cb'],
      expect: false,
    },
    {
      description: 'a scheme-relative registration',
      given: ['//localhost:1/cb', '//localhost:2/cb'],
      expect: false,
    },
    {
      description: '[AS-REDIR-20] a wildcard',
      given: ['https://*.c.example/cb', 'https://a.c.example/cb'],
      expect: false,
    },
  ];
  it.each(loopback)(
    '[AS-REDIR-21] T004 matchesRedirectUri returns $expect for $description',
    ({ given: [registered, requested], expect: expected }) => {
      expect(matchesRedirectUri(registered, requested)).toBe(expected);
    },
  );
});

describe('checkRedirectUri', () => {
  it.each([
    {
      description: 'checkRedirectUri accepts an https redirect URI',
      given: ['https://c.example/cb', 'https://c.example/cb'] as const,
      expect: { uri: 'https://c.example/cb', kind: 'https', display: 'c.example' },
    },
    {
      description: 'checkRedirectUri accepts a port and a host in punycode',
      given: ['https://xn--e1awd7f.example:8443/cb', 'https://xn--e1awd7f.example:8443/cb'] as const,
      expect: {
        uri: 'https://xn--e1awd7f.example:8443/cb',
        kind: 'https',
        display: 'xn--e1awd7f.example:8443',
      },
    },
    {
      description: 'checkRedirectUri accepts a loopback redirect URI with the port of the request',
      given: ['http://127.0.0.1/cb', 'http://127.0.0.1:51004/cb'] as const,
      expect: { uri: 'http://127.0.0.1:51004/cb', kind: 'loopback', display: '127.0.0.1:51004' },
    },
    {
      description:
        '[AS-AUTHZ-65] checkRedirectUri uses the only registered redirect URI when the request names none',
      given: ['https://c.example/cb', undefined] as const,
      expect: { uri: 'https://c.example/cb', kind: 'https', display: 'c.example' },
    },
  ])('$description', ({ given: [registered, requested], expect: expected }) => {
    expect(checkRedirectUri([registered], requested)).toEqual(expected);
  });

  it('checkRedirectUri accepts each of several registered redirect URIs, and no other', () => {
    const registered = ['https://a.example/cb', 'http://localhost/cb', 'https://b.example/cb'];
    for (const uri of registered) expect(checkRedirectUri(registered, uri).uri).toBe(uri);
    expect(answerOf(() => checkRedirectUri(registered, 'https://c.example/cb'))).toBe('invalid_request');
  });

  it('checkRedirectUri rejects what another client registered, and what another policy allows, after it was accepted', () => {
    const [uri, policy] = ['https://app.example/callback', { privateUseSchemes: [] }];
    expect(checkRedirectUri([uri], uri, policy)).toEqual(checkRedirectUri([uri], uri, policy));
    expect(answerOf(() => checkRedirectUri(['https://other.example/callback'], uri, policy))).toBe(
      'invalid_request',
    );
    const own = { privateUseSchemes: [], ownOrigin: 'https://app.example' };
    expect(answerOf(() => checkRedirectUri([uri], uri, own))).toBe('invalid_request');
    expect(checkRedirectUri([uri], uri, policy).uri).toBe(uri);
  });

  it('checkRedirectUri tells a developer what to send when no redirect URI is named', () => {
    const refusal = refusalOf(() =>
      checkRedirectUri(['https://a.example/', 'https://b.example/'], undefined),
    );
    expect(refusal.description).toBe('Send the redirect_uri: this client has not registered exactly one.');
  });

  it('checkRedirectUri shows the scheme of a private-use URI', () => {
    const policy = { privateUseSchemes: ['cursor'] };
    expect(checkRedirectUri(['cursor://host/cb'], 'cursor://host/cb', policy)).toEqual({
      uri: 'cursor://host/cb',
      kind: 'private-use',
      display: 'cursor:',
    });
  });

  it.each([
    {
      description: 'checkRedirectUri rejects a request without redirect_uri when several are registered',
      given: [['https://a.example/', 'https://b.example/'], undefined] as const,
    },
    {
      description: 'checkRedirectUri rejects a request without redirect_uri when none is registered',
      given: [[], undefined] as const,
    },
    {
      description: 'T001 checkRedirectUri rejects an unregistered redirect URI',
      given: [['https://c.example/cb'], 'https://evil.example/cb'] as const,
    },
    {
      description: 'checkRedirectUri rejects a private-use URI registered before the policy changed',
      given: [['myapp://cb'], 'myapp://cb'] as const,
    },
    {
      description: 'checkRedirectUri rejects a plain http URI in an old record',
      given: [['http://c.example/cb'], 'http://c.example/cb'] as const,
    },
  ])('$description', ({ given: [registered, requested] }) => {
    expect(refusalOf(() => checkRedirectUri(registered, requested))).toMatchObject({
      code: 'invalid_request',
      status: 400,
    });
  });

  it.each(scripts)('T005 checkRedirectUri rejects %j even where a record contains it', (given) => {
    const refusal = refusalOf(() => checkRedirectUri([given], given));
    expect(refusal.code).toBe('invalid_request');
    expect(refusal.description).not.toContain('alert');
  });
});

describe('for all redirect URIs', () => {
  const piece = fc.constantFrom(
    ...[
      'http://',
      'https://',
      'localhost',
      '127.0.0.1',
      '[::1]',
      'evil.test',
      ':80',
      ':3000',
      '@',
      '/',
      '//',
      '\\',
      '?',
      '#',
    ],
    ...['%2f', '%40', 'cb', '..', '.', ';', '\t', ' ', 'a', ':', '1', '0', '[', ']', 'LOCALHOST', '。'],
  );
  const loopbackUri = fc
    .tuple(
      fc.constantFrom('http://localhost', 'http://127.0.0.1', 'http://[::1]'),
      fc.option(
        fc.integer({ min: 0, max: 65_535 }).map((port) => `:${port}`),
        { nil: '' },
      ),
      fc.array(piece, { maxLength: 5 }).map((parts) => parts.join('')),
    )
    .map((parts) => parts.join(''));
  const anything = fc.oneof(
    loopbackUri,
    webUrl(),
    fc.array(piece, { maxLength: 7 }).map((parts) => parts.join('')),
  );

  it('[AS-REDIR-21] a redirect URI that matches without being equal is http loopback with the same host, path and query', () => {
    fc.assert(
      fc.property(anything, anything, (registered, requested) => {
        if (registered === requested || !matchesRedirectUri(registered, requested)) return;
        const [left, right] = [new URL(registered), new URL(requested)];
        expect(isLoopbackHost(right.hostname)).toBe(true);
        for (const part of [
          'protocol',
          'hostname',
          'pathname',
          'search',
          'hash',
          'username',
          'password',
        ] as const) {
          expect(left[part]).toBe(right[part]);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('[AS-REDIR-5] checkRedirectUri accepts only registered URIs, which lead to https or loopback', () => {
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 3 }), anything, (others, requested) => {
        const registered = [...others, requested];
        const target = answerOf(() => checkRedirectUri(registered, requested));
        if (typeof target === 'string') return;
        const url = new URL(target.uri);
        expect(target.uri).toBe(requested);
        expect(url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname))).toBe(
          true,
        );
        expect([url.username, url.password, url.hash]).toEqual(['', '', '']);
        expect(target.display).toBe(url.host);
      }),
      { numRuns: 2000 },
    );
  });

  it('redirect URI matching is symmetric', () => {
    fc.assert(
      fc.property(loopbackUri, loopbackUri, (left, right) => {
        expect(matchesRedirectUri(left, right)).toBe(matchesRedirectUri(right, left));
      }),
    );
  });

  it('checkRedirectUri accepts every port of a registered loopback URI', () => {
    fc.assert(
      fc.property(loopbackUri, fc.integer({ min: 1, max: 65_535 }), (registered, port) => {
        if (validateRedirectUri(registered).kind !== 'loopback' || readUrl(registered) === null) return;
        const requested = registered.replace(
          /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d+)?/,
          `$1:${port}`,
        );
        expect(checkRedirectUri([registered], requested).uri).toBe(requested);
      }),
    );
  });
});
