/** The page that a user sees after the redirect: static text, no scripts, no external resources. */
import type { SignInOutcome } from '../authorization/receiver.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

const MARKS = {
  done: '<circle cx="24" cy="24" r="22"/><path pathLength="1" d="m14 24.5 7 7 13-14"/>',
  failed: '<circle cx="24" cy="24" r="22"/><path pathLength="1" d="M24 13v14M24 34v.1"/>',
};

/** The page as HTML, in the look of the authorization server's pages. */
export function resultPage({ ok, message }: SignInOutcome): string {
  const title = ok ? 'Connected' : 'Not connected';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
:root { color-scheme: light dark; --page: #f3f4f7; --card: #fff; --edge: #dfe3ea; --ink: #14171d; --mark: ${ok ? '#14532a' : '#b3211b'}; --mark-page: ${ok ? '#e3f3e6' : '#fbe9e7'} }
@media (prefers-color-scheme: dark) {
  :root { --page: #0c0e12; --card: #16191f; --edge: #2a2f39; --ink: #eceef2; --mark: ${ok ? '#a8e3b9' : '#ff9d94'}; --mark-page: ${ok ? '#12291a' : '#331412'} }
}
* { box-sizing: border-box }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; padding: 16px;
  display: grid; grid-template-columns: minmax(0, 440px); align-content: center; justify-content: center;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere;
  color: var(--ink); background: var(--page);
}
main { padding: 24px; background: var(--card); border: 1px solid var(--edge); border-radius: 16px }
svg { display: block; margin-bottom: 16px; color: var(--mark) }
circle { fill: var(--mark-page); stroke: none }
path { stroke-dasharray: ${ok ? '1' : 'none'}; animation: draw 300ms ease-out }
@keyframes draw { from { stroke-dashoffset: 1 } }
@media (prefers-reduced-motion: reduce) { path { animation: none } }
h1 { margin: 0 0 8px; font-size: 28px; line-height: 1.2; letter-spacing: -0.02em; font-weight: 600 }
p { margin: 0; text-wrap: pretty }
</style>
</head>
<body>
<main>
<svg width="48" height="48" viewBox="0 0 48 48" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${ok ? MARKS.done : MARKS.failed}</svg>
<h1>${title}</h1>
<p>${escapeHtml(message)}</p>
</main>
</body>
</html>
`;
}

/** Headers that forbid scripts, framing, caching and referrers. */
export const RESULT_PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};
