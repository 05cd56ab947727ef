/** The path and the query of a request are those that the URL parser finds. */
import { pathOf, queryOf } from '@portcullis/http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webUrl } from '../../../tests/support/any-text.ts';

describe('path and query of a request', () => {
  it.each([
    'https://as.example',
    'https://as.example/token',
    'http://[::1]:8080/a/b?c=/d?e#f',
    'https://as.example?x=/y',
    'https://as.example/#/token',
    'https://as.example//token',
    'https://as.example/a%3Fb',
  ])('path and query equal those of the URL parser: %s', (url) => {
    expect(pathOf(new Request(url))).toBe(new URL(url).pathname);
    expect(queryOf(new Request(url))).toBe(new URL(url).search.slice(1));
  });

  it('path and query equal those of the URL parser for arbitrary URLs', () => {
    fc.assert(
      fc.property(webUrl({ withQuery: true, withFragment: true }), (url) => {
        expect(pathOf(new Request(url))).toBe(new URL(url).pathname);
        expect(queryOf(new Request(url))).toBe(new URL(url).search.slice(1));
      }),
    );
  });
});
