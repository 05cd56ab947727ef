/** Marks: monograms with stable colours that can be read, and logos of identity providers by their host. */
import { describe, expect, it } from 'vitest';
import { describeAccess } from '../src/consent/scope-access.ts';
import { MONOGRAM_COLOURS, monogram } from '../src/ui/marks.ts';
import { providerMark } from '../src/ui/provider-logos.ts';

/** @see WCAG 2.2, definition of relative luminance */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const textOf = async (markup: ReturnType<typeof monogram>) =>
  /<text[^>]*>(.*)<\/text>/.exec(`${await markup}`)?.[1];
const fillOf = async (markup: ReturnType<typeof monogram>) => /fill="(#\w{6})"/.exec(`${await markup}`)?.[1];

describe('monograms', () => {
  it.each(MONOGRAM_COLOURS)('white letters on %s have a contrast of at least 4.5', (colour) => {
    expect(1.05 / (luminance(colour) + 0.05)).toBeGreaterThanOrEqual(4.5);
  });

  it('the colour depends on the key only, is the same every time, and differs between keys', async () => {
    expect(await fillOf(monogram('Claude', 'claude.ai'))).toBe(await fillOf(monogram('Other', 'claude.ai')));
    const keys = Array.from({ length: 200 }, (_, index) => `client_${index}`);
    const colours = await Promise.all(keys.map((key) => fillOf(monogram('App', key))));
    expect(new Set(colours)).toEqual(new Set(MONOGRAM_COLOURS));
  });

  it.each([
    ['Notes CLI', 'NC'],
    ['claude', 'C'],
    ['The most helpful assistant', 'TA'],
    ['(dev) 7zip', 'D7'],
    ['日本語メモ', '日'],
    ['🗝', '?'],
    ['', '?'],
    ['<b>"x"', 'BX'],
  ])('the letters of %s are %s', async (name, letters) => {
    expect(await textOf(monogram(name, 'key'))).toBe(letters);
  });
});

describe('marks of identity providers', () => {
  it.each([
    'https://github.com/login/oauth',
    'https://accounts.google.com',
    'https://login.microsoftonline.com/tenant/v2.0',
    'https://appleid.apple.com',
    'https://slack.com',
    'https://gitlab.com',
    'https://acme.okta.com/oauth2/default',
    'https://acme.auth0.com/',
  ])('%s has its own logo', async (issuer) => {
    const mark = `${await providerMark('Name', issuer)}`;
    expect(mark).toContain('class="logo"');
    expect(mark).not.toMatch(/<text|href|url\(/);
  });

  it('no provider borrows a logo by its name or by a similar host', async () => {
    const issuers = ['https://github.com.evil.example', 'https://evilgithub.com', 'https://notslack.com', ''];
    for (const issuer of issuers) {
      expect(await textOf(providerMark('GitHub', issuer))).toBe('G');
    }
  });
});

describe('what scopes allow', () => {
  it.each([
    ['notes:read', 'read'],
    ['https://www.googleapis.com/auth/drive.readonly', 'read'],
    ['notes:write', 'write'],
    ['createNotes', 'write'],
    ['repo.delete_all', 'delete'],
    ['admin:org', 'administer'],
    ['notes', 'other'],
    ['constructor', 'other'],
  ] as const)('the name of the scope %s suggests: %s', (scope, access) => {
    const isOffByDefault = access === 'delete' || access === 'administer';
    expect(describeAccess(scope, {})).toEqual({ access, isOffByDefault });
  });

  it('a mark of the operator counts more than the name, and what a scope implies counts as well', () => {
    const rules = { access: { wipe: 'delete', 'x:admin': 'read' }, hierarchy: { all: ['wipe'] } } as const;
    expect(describeAccess('wipe', rules)).toEqual({ access: 'delete', isOffByDefault: true });
    expect(describeAccess('all', rules)).toEqual({ access: 'delete', isOffByDefault: true });
    expect(describeAccess('x:admin', rules)).toEqual({ access: 'read', isOffByDefault: false });
  });
});
