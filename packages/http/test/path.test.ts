/** The path of a request is the one that the URL parser finds. */
import { pathOf } from '@portcullis/http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

describe('the path of a request', () => {
  it.each([
    'https://as.example',
    'https://as.example/token',
    'http://[::1]:8080/a/b?c=/d?e#f',
    'https://as.example?x=/y',
    'https://as.example/#/token',
    'https://as.example//token',
    'https://as.example/a%3Fb',
  ])('is that of the parser: %s', (url) => {
    expect(pathOf(new Request(url))).toBe(new URL(url).pathname);
  });

  it('is that of the parser, whatever is asked for', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        expect(pathOf(new Request(url))).toBe(new URL(url).pathname);
      }),
    );
  });
});
