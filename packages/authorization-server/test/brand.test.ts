/** Branding: logo, accent colour, texts and links, and what is rejected at startup. */

import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../src/index.ts';
import type { BrandOptions } from '../src/ui/brand.ts';
import { startServer } from './server-under-test.ts';
import { requestOf, setScene, textOf } from './visitor.ts';

const PNG: Uint8Array = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);
const SVG: Uint8Array = new TextEncoder().encode(
  '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
);

async function issuesOf(brand: BrandOptions): Promise<readonly string[]> {
  const error: unknown = await startServer({ brand }).then(
    () => null,
    (cause: unknown) => cause,
  );
  if (!(error instanceof ConfigurationError)) throw new Error('the brand was taken');
  return error.issues;
}

describe('a brand', () => {
  it.each([
    ['PNG', PNG, 'image/png'],
    ['SVG', SVG, 'image/svg+xml'],
  ])(
    'T065: shows a logo that is %s from our own origin, where it can do nothing',
    async (_name, logo, type) => {
      const t = await setScene({ brand: { logo } });
      const sight = await t.visitor.open(requestOf());
      const path = /<img src="(\/assets\/[^"]+)" alt="" height="20">/.exec(sight.html)?.[1] ?? '';
      const { status, headers } = await t.visitor.open(path);
      expect([status, headers.get('content-type'), headers.get('x-content-type-options')]).toEqual([
        200,
        type,
        'nosniff',
      ]);
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      );
      expect(sight.headers.get('content-security-policy')).toContain("img-src 'self'");
    },
  );

  it('a brand sets the accent colour, texts and links of the pages', async () => {
    const t = await setScene({
      brand: {
        accent: { light: '#7a1fa2', dark: '#e0b0ff' },
        texts: { en: { 'consent.deny': 'No, thanks' }, de: { 'consent.deny': 'Nein, danke' } },
        links: [{ label: 'Imprint & more', href: 'https://as.example/imprint' }],
      },
    });
    const sight = await t.visitor.signIn(requestOf());
    expect(textOf(sight)).toMatch(
      /No, thanks Allow access Imprint & more Deutsch Français Español 日本語 简体中文$/,
    );
    expect(sight.html).toContain('<a href="https://as.example/imprint">');
    const style = await t.visitor.open(/<link rel="stylesheet" href="([^"]+)">/.exec(sight.html)?.[1] ?? '');
    expect(style.html).toContain('--accent:#7a1fa2;--accent-pressed:#621982;--accent-ink:#ffffff');
    expect(style.html).toContain('--accent:#e0b0ff;--accent-pressed:#e6c0ff;--accent-ink:#0a1838');
  });

  it.each<[string, BrandOptions, RegExp]>([
    ['a logo that is HTML', { logo: new TextEncoder().encode('<!doctype html><svg>') }, /^brand\.logo must be a PNG/],
    ['an empty logo', { logo: new Uint8Array() }, /^brand\.logo must be a PNG/],
    ['a large logo', { logo: new Uint8Array([...PNG, ...new Uint8Array(65_536)]) }, /at most 65536 bytes/],
    ['a colour too light for light pages', { accent: { light: '#ffcc00' } }, /^brand\.accent\.light has a contrast of 1\.\d/],
    ['a colour too dark for dark pages', { accent: { dark: '#1c4fc4' } }, /^brand\.accent\.dark has a contrast of/],
    ['what is no colour', { accent: { light: 'red;}body{display:none' } }, /^brand\.accent\.light must be a colour/],
    ['a language that there is not', { texts: { xx: {} } as object }, /^brand\.texts\.xx: unknown key/],
    ['a text that there is not', { texts: { en: { 'consent.maybe': 'Maybe' } as object } }, /consent\.maybe: unknown text/],
    ['a text without its places', { texts: { en: { 'consent.heading': 'Hello' } } }, /must have the placeholders \{app\}, \{server\}/],
    ['an empty text', { texts: { en: { 'consent.deny': ' ' } } }, /consent\.deny must not be empty/],
    ['a link that runs', { links: [{ label: 'x', href: 'javascript:alert(1)' }] }, /^brand\.links\.0\.href must be/],
    ['a link over plain http', { links: [{ label: 'x', href: 'http://as.example/' }] }, /^brand\.links\.0\.href must be/],
    ['a link without words', { links: [{ label: ' ', href: 'https://as.example/' }] }, /^brand\.links\.0\.label must/],
  ])('a brand is rejected for %s', async (_what, brand, issue) => {
    expect(await issuesOf(brand)).toEqual([expect.stringMatching(issue)]);
  }); // biome-ignore format: a table

  it('a brand reports all issues together', async () => {
    expect(await issuesOf({ accent: { light: '#fff', dark: '#000' }, logo: new Uint8Array() })).toHaveLength(
      3,
    );
  });
});
