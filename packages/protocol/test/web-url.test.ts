/** Which addresses may be used at all. */
import { isLoopbackHost, isSecureUrl, readUrl, readWebUrl } from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from './texts.ts';

describe('readWebUrl', () => {
  const cases: readonly { description: string; given: string; expect: string | null }[] = [
    { description: 'https', given: 'https://a.example/x?y=1', expect: 'https://a.example/x?y=1' },
    { description: 'http', given: 'http://a.example', expect: 'http://a.example/' },
    { description: 'uppercase scheme and host', given: 'HTTPS://A.Example/X', expect: 'https://a.example/X' },
    { description: 'a port', given: 'https://a.example:8443/', expect: 'https://a.example:8443/' },
    { description: 'the default port', given: 'https://a.example:443/', expect: 'https://a.example/' },
    {
      description: 'punycode',
      given: 'https://xn--e1awd7f.example/',
      expect: 'https://xn--e1awd7f.example/',
    },
    { description: 'IPv4', given: 'https://192.0.2.1/', expect: 'https://192.0.2.1/' },
    {
      description: 'IPv6 in any spelling',
      given: 'https://[2001:DB8:0::1]/',
      expect: 'https://[2001:db8::1]/',
    },
    {
      description: 'percent-encoding in the path',
      given: 'https://a.example/%2f',
      expect: 'https://a.example/%2f',
    },
    {
      description: 'sub-delimiters',
      given: "https://a.example/$(x)&!'*;=@",
      expect: "https://a.example/$(x)&!'*;=@",
    },
    { description: 'nothing', given: '', expect: null },
    { description: 'no scheme', given: 'a.example/x', expect: null },
    { description: 'relative to a scheme', given: '//a.example/x', expect: null },
    { description: 'a path', given: '/x', expect: null },
    { description: 'another scheme', given: 'ftp://a.example/', expect: null },
    { description: 'a script', given: 'javascript:alert(1)', expect: null },
    {
      description: 'a script that looks like a URL',
      given: 'javascript://a.example/%0aalert(1)',
      expect: null,
    },
    { description: 'a file', given: 'file:///etc/passwd', expect: null },
    { description: 'no host', given: 'https://', expect: null },
    { description: 'one slash, which parsers correct', given: 'https:/a.example', expect: null },
    { description: 'no slash, which parsers correct', given: 'https:a.example', expect: null },
    { description: 'three slashes, which parsers skip', given: 'https:///a.example', expect: null },
    { description: 'backslashes, which parsers turn', given: 'https:\\\\a.example', expect: null },
    {
      description: 'a backslash before a false host',
      given: 'https://evil.example\\@a.example/',
      expect: null,
    },
    { description: 'a user', given: 'https://user@a.example/', expect: null },
    { description: 'a user and a password', given: 'https://user:pass@a.example/', expect: null },
    { description: 'a false host as user', given: 'https://a.example@evil.example/', expect: null },
    {
      description: 'a false host and port as user',
      given: 'http://localhost:80@evil.example/',
      expect: null,
    },
    { description: 'a false IPv6 host as user', given: 'https://[::1]@[2001:db8::1]/', expect: null },
    { description: 'a user without slashes', given: 'https:/user@a.example/', expect: null },
    { description: 'an empty user', given: 'https://@a.example/', expect: null },
    { description: 'an empty user and password', given: 'https://:@a.example/', expect: null },
    {
      description: 'an @ in the path, where it is harmless',
      given: 'https://a.example/@b',
      expect: 'https://a.example/@b',
    },
    { description: 'a space in front', given: ' https://a.example/', expect: null },
    { description: 'a space behind', given: 'https://a.example/ ', expect: null },
    { description: 'a tab inside, which parsers drop', given: 'https://a.exa\tmple/', expect: null },
    { description: 'a line break inside, which parsers drop', given: 'https://a.example/\nx', expect: null },
    { description: 'a NUL', given: 'https://a.example/\0', expect: null },
    { description: 'quotes', given: 'https://a.example/"&calc&"', expect: null },
    { description: 'angle brackets', given: 'https://a.example/<script>', expect: null },
    { description: 'what RFC 3986 does not know', given: 'https://a.example/{x}|^`', expect: null },
    { description: 'half a percent-encoding', given: 'https://a.example/%USERPROFILE%', expect: null },
    { description: 'a percent sign at the end', given: 'https://a.example/%2', expect: null },
    { description: 'a Unicode host', given: 'https://bücher.example/', expect: null },
    { description: 'a full-width dot, which parsers narrow', given: 'https://a\uff0eexample/', expect: null },
    { description: 'a full-width letter', given: 'https://\uff41.example/', expect: null },
    {
      description: 'a percent-encoded host, which parsers decode',
      given: 'https://a%2eexample/',
      expect: null,
    },
    { description: 'a percent-encoded letter in the host', given: 'https://%61.example/', expect: null },
    { description: 'IPv4 with a part left out', given: 'http://127.1/', expect: null },
    { description: 'IPv4 in hexadecimal', given: 'http://0x7f.1/', expect: null },
    { description: 'IPv4 as one number', given: 'http://2130706433/', expect: null },
    { description: 'IPv4 in octal', given: 'http://0177.0.0.1/', expect: null },
    {
      description: 'an underscore in the host',
      given: 'https://a_b.example/',
      expect: 'https://a_b.example/',
    },
    { description: 'a semicolon in the host', given: 'https://a.example;frame-ancestors/', expect: null },
    { description: 'a comma in the host', given: 'https://a.example,b.example/', expect: null },
    { description: 'a quote in the host', given: "https://a'b.example/", expect: null },
    { description: 'a sub-delimiter in the host', given: 'https://a.example$&=/', expect: null },
    { description: 'a port too high', given: 'https://a.example:65536/', expect: null },
    { description: 'a port that is none', given: 'https://a.example:x/', expect: null },
  ];
  it.each(cases)('[C-URL-43] T110 $description', ({ given, expect: expected }) => {
    expect(readWebUrl(given)?.href ?? null).toBe(expected);
  });
});

describe('readUrl', () => {
  it.each([
    { description: 'a private-use scheme', given: 'com.example.app:/cb', expect: 'com.example.app:/cb' },
    {
      description: 'a private-use scheme with a host',
      given: 'cursor://Any.Host/cb',
      expect: 'cursor://Any.Host/cb',
    },
    { description: 'a user in it', given: 'cursor://user@host/cb', expect: null },
    { description: 'a semicolon in its host', given: 'cursor://host;x/cb', expect: null },
    { description: 'an empty user in it', given: 'cursor://@host/cb', expect: null },
    { description: 'no scheme', given: '/cb', expect: null },
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
  ])('$given: $expect', ({ given, expect: expected }) => {
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
  ])('$given: $expect', ({ given, expect: expected }) => {
    expect(isLoopbackHost(given)).toBe(expected);
  });
});

describe('every address that is read', () => {
  const text = fc.oneof(
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
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

  it('shows the host that the parser connects to', () => {
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

  it('is read the same again from what it was read as', () => {
    fc.assert(
      fc.property(text, (given) => {
        const url = readWebUrl(given);
        if (url !== null) expect(readWebUrl(url.href)?.href).toBe(url.href);
      }),
    );
  });
});
