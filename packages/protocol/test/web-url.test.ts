/** Web URLs: which are accepted at all. */

import { isLoopbackHost, isSecureUrl, readWebUrl } from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webUrl } from '../../../tests/support/any-text.ts';
import { readUrl } from '../src/parsing/web-url.ts';
import { anyText } from './texts.ts';

describe('readWebUrl', () => {
  const cases: readonly { description: string; given: string; expect: string | null }[] = [
    {
      description: 'readWebUrl accepts https',
      given: 'https://a.example/x?y=1',
      expect: 'https://a.example/x?y=1',
    },
    { description: 'readWebUrl accepts http', given: 'http://a.example', expect: 'http://a.example/' },
    {
      description: 'readWebUrl accepts uppercase scheme and host',
      given: 'HTTPS://A.Example/X',
      expect: 'https://a.example/X',
    },
    {
      description: 'readWebUrl accepts a port',
      given: 'https://a.example:8443/',
      expect: 'https://a.example:8443/',
    },
    {
      description: 'readWebUrl accepts the default port',
      given: 'https://a.example:443/',
      expect: 'https://a.example/',
    },
    {
      description: 'readWebUrl accepts punycode',
      given: 'https://xn--e1awd7f.example/',
      expect: 'https://xn--e1awd7f.example/',
    },
    { description: 'readWebUrl accepts IPv4', given: 'https://192.0.2.1/', expect: 'https://192.0.2.1/' },
    {
      description: 'readWebUrl accepts IPv6 in any spelling',
      given: 'https://[2001:DB8:0::1]/',
      expect: 'https://[2001:db8::1]/',
    },
    {
      description: 'readWebUrl accepts percent-encoding in the path',
      given: 'https://a.example/%2f',
      expect: 'https://a.example/%2f',
    },
    {
      description: 'readWebUrl accepts sub-delimiters',
      given: "https://a.example/$(x)&!'*;=@",
      expect: "https://a.example/$(x)&!'*;=@",
    },
    { description: 'readWebUrl rejects an empty string', given: '', expect: null },
    { description: 'readWebUrl rejects a URL without a scheme', given: 'a.example/x', expect: null },
    { description: 'readWebUrl rejects a scheme-relative reference', given: '//a.example/x', expect: null },
    { description: 'readWebUrl rejects a path', given: '/x', expect: null },
    { description: 'readWebUrl rejects another scheme', given: 'ftp://a.example/', expect: null },
    { description: 'readWebUrl rejects a javascript: URL', given: 'javascript:alert(1)', expect: null },
    {
      description: 'readWebUrl rejects a javascript: URL that looks like a web URL',
      given: 'javascript://a.example/%0aalert(1)',
      expect: null,
    },
    { description: 'readWebUrl rejects a file: URL', given: 'file:///etc/passwd', expect: null },
    { description: 'readWebUrl rejects a URL without a host', given: 'https://', expect: null },
    {
      description: 'readWebUrl rejects a dot at the end of the host, a second spelling of it',
      given: 'https://a.example./x',
      expect: null,
    },
    {
      description: 'readWebUrl rejects one slash, which parsers correct',
      given: 'https:/a.example',
      expect: null,
    },
    {
      description: 'readWebUrl rejects no slash, which parsers correct',
      given: 'https:a.example',
      expect: null,
    },
    {
      description: 'readWebUrl rejects three slashes, which parsers skip',
      given: 'https:///a.example',
      expect: null,
    },
    {
      description: 'readWebUrl rejects backslashes, which parsers turn into slashes',
      given: 'https:\\\\a.example',
      expect: null,
    },
    {
      description: 'readWebUrl rejects a backslash before a false host',
      given: 'https://evil.example\\@a.example/',
      expect: null,
    },
    { description: 'readWebUrl rejects a user', given: 'https://user@a.example/', expect: null },
    {
      description: 'readWebUrl rejects a user and a password',
      given: 'https://user:pass@a.example/',
      expect: null,
    },
    {
      description: 'readWebUrl rejects a misleading host as userinfo',
      given: 'https://a.example@evil.example/',
      expect: null,
    },
    {
      description: 'readWebUrl rejects a misleading host and port as userinfo',
      given: 'http://localhost:80@evil.example/',
      expect: null,
    },
    {
      description: 'readWebUrl rejects a false IPv6 host as user',
      given: 'https://[::1]@[2001:db8::1]/',
      expect: null,
    },
    {
      description: 'readWebUrl rejects a user without slashes',
      given: 'https:/user@a.example/',
      expect: null,
    },
    { description: 'readWebUrl rejects an empty user', given: 'https://@a.example/', expect: null },
    {
      description: 'readWebUrl rejects an empty user and password',
      given: 'https://:@a.example/',
      expect: null,
    },
    {
      description: 'readWebUrl accepts an @ in the path, where it is harmless',
      given: 'https://a.example/@b',
      expect: 'https://a.example/@b',
    },
    { description: 'readWebUrl rejects a leading space', given: ' https://a.example/', expect: null },
    { description: 'readWebUrl rejects a trailing space', given: 'https://a.example/ ', expect: null },
    {
      description: 'readWebUrl rejects a tab inside, which parsers drop',
      given: 'https://a.exa\tmple/',
      expect: null,
    },
    {
      description: 'readWebUrl rejects a line break inside, which parsers drop',
      given: 'https://a.example/\nx',
      expect: null,
    },
    { description: 'readWebUrl rejects a NUL', given: 'https://a.example/\0', expect: null },
    { description: 'readWebUrl rejects quotes', given: 'https://a.example/"&calc&"', expect: null },
    { description: 'readWebUrl rejects angle brackets', given: 'https://a.example/<script>', expect: null },
    {
      description: 'readWebUrl rejects characters that RFC 3986 does not allow',
      given: 'https://a.example/{x}|^`',
      expect: null,
    },
    {
      description: 'readWebUrl rejects half a percent-encoding',
      given: 'https://a.example/%USERPROFILE%',
      expect: null,
    },
    {
      description: 'readWebUrl rejects a percent sign at the end',
      given: 'https://a.example/%2',
      expect: null,
    },
    { description: 'readWebUrl rejects a Unicode host', given: 'https://bücher.example/', expect: null },
    {
      description: 'readWebUrl rejects a full-width dot, which parsers narrow',
      given: 'https://a\uff0eexample/',
      expect: null,
    },
    { description: 'readWebUrl rejects a full-width letter', given: 'https://\uff41.example/', expect: null },
    {
      description: 'readWebUrl rejects a percent-encoded host, which parsers decode',
      given: 'https://a%2eexample/',
      expect: null,
    },
    {
      description: 'readWebUrl rejects a percent-encoded letter in the host',
      given: 'https://%61.example/',
      expect: null,
    },
    {
      description: 'readWebUrl rejects an IPv4 address with a part left out',
      given: 'http://127.1/',
      expect: null,
    },
    { description: 'readWebUrl rejects IPv4 in hexadecimal', given: 'http://0x7f.1/', expect: null },
    { description: 'readWebUrl rejects IPv4 as one number', given: 'http://2130706433/', expect: null },
    { description: 'readWebUrl rejects IPv4 in octal', given: 'http://0177.0.0.1/', expect: null },
    {
      description: 'readWebUrl accepts an underscore in the host',
      given: 'https://a_b.example/',
      expect: 'https://a_b.example/',
    },
    {
      description: 'readWebUrl rejects a semicolon in the host',
      given: 'https://a.example;frame-ancestors/',
      expect: null,
    },
    {
      description: 'readWebUrl rejects a comma in the host',
      given: 'https://a.example,b.example/',
      expect: null,
    },
    { description: 'readWebUrl rejects a quote in the host', given: "https://a'b.example/", expect: null },
    {
      description: 'readWebUrl rejects a sub-delimiter in the host',
      given: 'https://a.example$&=/',
      expect: null,
    },
    { description: 'readWebUrl rejects a port above 65535', given: 'https://a.example:65536/', expect: null },
    {
      description: 'readWebUrl rejects a port that is not a number',
      given: 'https://a.example:x/',
      expect: null,
    },
  ];
  it.each(cases)('[C-URL-43] T110 $description', ({ given, expect: expected }) => {
    expect(readWebUrl(given)?.href ?? null).toBe(expected);
  });
});

describe('readUrl', () => {
  it.each([
    {
      description: 'readUrl accepts a private-use scheme',
      given: 'com.example.app:/cb',
      expect: 'com.example.app:/cb',
    },
    {
      description: 'readUrl accepts a private-use scheme with a host',
      given: 'cursor://Any.Host/cb',
      expect: 'cursor://Any.Host/cb',
    },
    {
      description: 'readUrl rejects userinfo in a private-use URI',
      given: 'cursor://user@host/cb',
      expect: null,
    },
    {
      description: 'readUrl rejects a semicolon in the host of a private-use URI',
      given: 'cursor://host;x/cb',
      expect: null,
    },
    {
      description: 'readUrl rejects empty userinfo in a private-use URI',
      given: 'cursor://@host/cb',
      expect: null,
    },
    { description: 'readUrl rejects a URI without a scheme', given: '/cb', expect: null },
  ])('$description', ({ given, expect: expected }) => {
    expect(readUrl(given)?.href ?? null).toBe(expected);
  });
});

describe('isSecureUrl', () => {
  it.each([
    { given: 'https://a.example/', expect: true },
    { given: 'https://127.0.0.1/', expect: true },
    { given: 'http://localhost:3000/', expect: true },
    { given: 'http://127.0.0.1:3000/', expect: true },
    { given: 'http://[::1]:3000/', expect: true },
    { given: 'http://LOCALHOST/', expect: true },
    { given: 'http://a.example/', expect: false },
    { given: 'http://127.0.0.2/', expect: false },
    { given: 'http://localhost./', expect: false },
    { given: 'http://x.localhost/', expect: false },
    { given: 'http://localhost.evil.test/', expect: false },
    { given: 'http://127.0.0.1.evil.test/', expect: false },
    { given: 'http://0.0.0.0/', expect: false },
    { given: 'http://[::ffff:7f00:1]/', expect: false },
    { given: 'ws://localhost/', expect: false },
  ])('isSecureUrl returns $expect for $given', ({ given, expect: expected }) => {
    expect(isSecureUrl(new URL(given))).toBe(expected);
  });
});

describe('isLoopbackHost', () => {
  it.each([
    { given: 'localhost', expect: true },
    { given: '127.0.0.1', expect: true },
    { given: '[::1]', expect: true },
    { given: '::1', expect: false },
    { given: '127.0.0.2', expect: false },
    { given: 'localhost.', expect: false },
    { given: '', expect: false },
  ])('isLoopbackHost returns $expect for $given', ({ given, expect: expected }) => {
    expect(isLoopbackHost(given)).toBe(expected);
  });
});

describe('every address that is read', () => {
  const text = fc.oneof(
    webUrl({ withQuery: true, withFragment: true }),
    fc
      .tuple(fc.constantFrom('https://', 'http://', 'https:/', 'https:///'), anyText)
      .map((parts) => parts.join('')),
    fc
      .array(
        fc.constantFrom(
          'https:',
          '/',
          '//',
          '@',
          ':',
          '%2e',
          '%',
          '.',
          '\\',
          'a.example',
          '[::1]',
          '127.1',
          '?',
          '#',
          '80',
        ),
        { maxLength: 8 },
      )
      .map((parts) => `https://${parts.join('')}`),
  );

  it('every accepted URL shows the host that the parser connects to', () => {
    fc.assert(
      fc.property(text, (given) => {
        const url = readWebUrl(given);
        if (url === null) return;
        const shown = /^https?:\/\/([^/?#]*)/i.exec(given)?.[1]?.toLowerCase() ?? '';
        expect(url.username + url.password).toBe('');
        expect(shown.startsWith('[') || shown.replace(/:\d*$/, '') === url.hostname).toBe(true);
        expect(given.startsWith(url.hash, given.length - url.hash.length)).toBe(true);
      }),
    );
  });

  it('every accepted URL reads the same again from its parsed form', () => {
    fc.assert(
      fc.property(text, (given) => {
        const url = readWebUrl(given);
        if (url !== null) expect(readWebUrl(url.href)?.href).toBe(url.href);
      }),
    );
  });
});
