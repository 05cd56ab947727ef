/** The language of pages, chosen per request, and the link that switches it. */
import { type HttpRequest, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { PageRouter } from '../page-context.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { type Language, preferredLanguage, readLanguage } from '../ui/texts/languages.ts';
import type { Route } from './router.ts';

/** Not a secret and used for no decision, so it needs no `__Host-` prefix. */
const COOKIE = 'portcullis-language';
/** Seconds: a year. */
const COOKIE_LIFETIME = 31_536_000;

/** The language of a request: the cookie of the language switch, else `Accept-Language`. */
export function languageOf({ headers }: HttpRequest): Language {
  const sent = headers.get('cookie')?.split(';') ?? [];
  const chosen = sent.map((pair) => pair.trim().split('=')).find(([name]) => name === COOKIE)?.[1];
  return readLanguage(chosen) ?? preferredLanguage(headers.get('accept-language'));
}

const LANGUAGE_PATH = '/language';

/** Sets the language cookie, and redirects back to the page of the link: the one that it names, else the referrer. */
export function createLanguageSwitch(pages: PageRouter): Route {
  const { options } = pages;
  const isSecure = options.issuer.startsWith('https:');
  return pages.route('GET', LANGUAGE_PATH, async ({ layout }, request) => {
    const parameters = readParameters(queryOf(request));
    const chosen = readLanguage(parameters.one('to')) ?? 'en';
    const cookie = `${COOKIE}=${chosen}; Max-Age=${COOKIE_LIFETIME}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    const back = sameOriginPath(refererOf(parameters.one('back'), request, options.issuer), options.issuer);
    if (back !== null) return respondRedirect(back, [cookie]);
    const page = messagePage(layout, {
      heading: layout.text('language.changed'),
      sentences: [layout.text('language.go-back')],
    });
    return respondPage(page, { cookies: [cookie] });
  });
}

/** The page of the link. */
function refererOf(back: string | undefined, { headers }: HttpRequest, issuer: string): string | null {
  return back === undefined ? headers.get('referer') : (URL.parse(back, issuer)?.href ?? null);
}

/** A path of this server, never a URL of another host (open redirect). */
function sameOriginPath(address: string | null, issuer: string): string | null {
  const url = address === null ? null : URL.parse(address);
  if (url === null || url.origin !== new URL(issuer).origin) return null;
  return /^\/(?!\/)/.test(url.pathname) && url.pathname !== LANGUAGE_PATH ? url.pathname + url.search : null;
}
