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

/** The page as HTML. */
export function resultPage({ ok, message }: SignInOutcome): string {
  const title = ok ? 'Signed in' : 'Not signed in';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
:root { color-scheme: light dark; --page: #f3f4f7; --card: #fff; --edge: #dfe3ea; --ink: #14171d; --mark: ${ok ? '#1a7f37' : '#b3211b'} }
@media (prefers-color-scheme: dark) {
  :root { --page: #0c0e12; --card: #16191f; --edge: #2a2f39; --ink: #eceef2; --mark: ${ok ? '#6fce8a' : '#ff9d94'} }
}
* { box-sizing: border-box }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; padding: 16px;
  display: grid; grid-template-columns: minmax(0, 440px); align-content: center; justify-content: center;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere;
  color: var(--ink); background: var(--page);
}
main { padding: 24px; background: var(--card); border: 1px solid var(--edge); border-top: 4px solid var(--mark); border-radius: 16px }
h1 { margin: 0 0 8px; font-size: 22px; line-height: 1.3; font-weight: 600 }
p { margin: 0 }
</style>
</head>
<body>
<main>
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
