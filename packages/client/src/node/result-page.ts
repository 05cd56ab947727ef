/** The page that a person sees when the browser comes back: words of ours only, nothing loaded, nothing followed. */
import type { Outcome } from '../authorization/receiver.ts';

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
export function resultPage({ ok, message }: Outcome): string {
  const title = ok ? 'Signed in' : 'Not signed in';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 18vh auto 0; padding: 0 1.5rem; color: #1c2733; background: #fff }
h1 { font-size: 1.5rem }
@media (prefers-color-scheme: dark) { body { color: #e6ebf0; background: #12181f } }
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

/** Headers under which nothing runs, nothing is kept and nothing leaks. */
export const RESULT_PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};
