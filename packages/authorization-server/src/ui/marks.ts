/** Marks drawn by this server: monograms of apps and servers, and icons of permissions by kind of access. */
import { html } from 'hono/html';
import type { Markup } from './markup.ts';

/** What a scope allows, from the least to the greatest risk. */
export const SCOPE_ACCESS = ['read', 'write', 'delete', 'administer'] as const;

/** What a scope allows. */
export type ScopeAccess = (typeof SCOPE_ACCESS)[number];

/** Backgrounds of monograms. White text on each has a contrast of at least 4.5. @see WCAG 2.2 §1.4.3 */
export const MONOGRAM_COLOURS: readonly string[] = [
  '#1c4fc4',
  '#0b6b8a',
  '#0f7355',
  '#3d7a1c',
  '#7d6608',
  '#a8500b',
  '#b3341b',
  '#b0235f',
  '#9031a3',
  '#6a3fc0',
  '#4d5a73',
  '#7a4b35',
];

/** The same for the same text, on every machine (FNV-1a). */
function colourOf(key: string): string {
  let digest = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(key)) digest = Math.imul(digest ^ byte, 0x01000193) >>> 0;
  return MONOGRAM_COLOURS[((digest ^ (digest >>> 15)) >>> 0) % MONOGRAM_COLOURS.length] ?? '';
}

/** The first letters of the first and the last word. */
function initialsOf(name: string): string {
  const words = name.match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu) ?? [];
  const [first = '', last = ''] = [words[0], words.length > 1 ? words.at(-1) : ''].map(
    (word = '') => [...word][0] ?? '',
  );
  const isWide = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}/u.test(first);
  return (isWide ? first : first + last).toLocaleUpperCase('en') || '?';
}

/**
 * A monogram with a stable colour.
 * @param key what it identifies: the host that published an app, or the identifier of a client or resource
 * @param shape apps are round, servers are square
 */
export function monogram(name: string, key: string, shape: 'app' | 'server' = 'app'): Markup {
  return html`<svg class="monogram" viewBox="0 0 40 40" width="40" height="40" aria-hidden="true"><rect width="40" height="40" rx="${shape === 'app' ? 20 : 10}" fill="${colourOf(key)}"/><text x="20" y="20.5" text-anchor="middle" dominant-baseline="central" fill="#fff">${initialsOf(name)}</text></svg>`;
}

/** The mark of an app. @param logoPath of this server; `null`: a monogram */
export function appMark(name: string, key: string, logoPath: string | null): Markup {
  return logoPath === null
    ? monogram(name, key)
    : html`<img class="monogram" src="${logoPath}" alt="" width="40" height="40">`;
}

const icon = (kind: string, content: Markup): Markup =>
  html`<svg class="access ${kind}" width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${content}</svg>`;

/** The icon of a permission. */
export const accessIcons: Readonly<Record<ScopeAccess | 'other', Markup>> = {
  read: icon(
    'read',
    html`<path d="M1.8 10S4.8 4.6 10 4.6 18.2 10 18.2 10 15.2 15.4 10 15.4 1.8 10 1.8 10z"/><circle cx="10" cy="10" r="2.4"/>`,
  ),
  write: icon(
    'write',
    html`<path d="m3.4 16.6.8-3.6L13.6 3.6a1.6 1.6 0 0 1 2.3 0l.5.5a1.6 1.6 0 0 1 0 2.3L7 15.8zM11.8 5.4l2.8 2.8"/>`,
  ),
  delete: icon(
    'delete',
    html`<path d="M3.4 5.6h13.2M7.6 5.4V3.2h4.8v2.2M5 5.8l.8 11h8.4l.8-11M8.4 9v4.6M11.6 9v4.6"/>`,
  ),
  administer: icon(
    'administer',
    html`<path d="M10 2.2 16.4 4.6v4.6c0 4-2.7 7-6.4 8.6-3.7-1.6-6.4-4.6-6.4-8.6V4.6zM7.4 9.8l1.9 1.9 3.5-3.6"/>`,
  ),
  other: icon('other', html`<circle cx="6.5" cy="13.5" r="3.5"/><path d="m9 11 7.5-7.5M13 7l2.5 2.5"/>`),
};

/** The mark of a warning. */
export const cautionIcon: Markup = icon('caution', html`<path d="M10 3 18 16.6H2zM10 8.4v3.6M10 14.3v.1"/>`);

/** A tick that draws itself where something was done. */
export const tick: Markup = html`<svg class="tick" width="48" height="48" viewBox="0 0 48 48" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><circle cx="24" cy="24" r="22"/><path pathLength="1" d="m14 24.5 7 7 13-14"/></svg>`;

/** Who has to act on an error. */
export type ErrorActor = 'you' | 'app' | 'administrator' | 'later';

export const actorIcons: Readonly<Record<ErrorActor, Markup>> = {
  you: icon('you', html`<circle cx="10" cy="6.4" r="3.4"/><path d="M3.6 17a6.4 6.4 0 0 1 12.8 0"/>`),
  app: icon('app', html`<path d="m6.8 6-4 4 4 4M13.2 6l4 4-4 4"/>`),
  administrator: accessIcons.administer,
  later: icon('later', html`<circle cx="10" cy="10" r="7.4"/><path d="M10 5.6V10l2.8 1.8"/>`),
};

/** The mark of passkeys: a user and a key. */
export const passkeyIcon: Markup = icon(
  'passkey',
  html`<circle cx="7.6" cy="6" r="3.2"/><path d="M1.8 16.6a5.9 5.9 0 0 1 9.6-4.6M15 13v4.6l1.2-1.2-1-1 1-1.2L15 13"/><circle cx="15" cy="10.6" r="2.4"/>`,
);
