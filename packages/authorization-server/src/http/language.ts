/** The language of pages, chosen per request, and the link that switches it. */
import { type HttpRequest, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { type Language, preferredLanguage, readLanguage, requestedLanguage } from '../ui/texts/languages.ts';
import { cookieValues } from './cookies.ts';
import type { PageRouterOf } from './page-route.ts';
import type { Route } from './router.ts';

/** Not a secret and used for no decision, so it needs no `__Host-` prefix. */
const COOKIE = 'portcullis-language';
/** Seconds: a year. */
const COOKIE_LIFETIME = 31_536_000;

/** The language of a request: the cookie of the language switch, else `ui_locales`, else `Accept-Language`. */
export function languageOf(request: HttpRequest): Language {
  return (
    chosenLanguage(request) ??
    uiLocaleOf(request) ??
    preferredLanguage(request.headers.get('accept-language'))
  );
}

/** What the language switch has set in this browser. */
function chosenLanguage({ headers }: HttpRequest): Language | null {
  const sent = headers.get('cookie') ?? '';
  if (!sent.includes(COOKIE)) return null;
  return readLanguage(cookieValues(sent, (name) => name === COOKIE, /./)[0]);
}

function uiLocaleOf(request: HttpRequest): Language | null {
  // A repeated one is an error of the authorization endpoint, whose page has a language too.
  return request.url.includes('ui_locales=')
    ? requestedLanguage(readParameters(queryOf(request)).all('ui_locales')[0])
    : null;
}

/**
 * Stores the `ui_locales` of an authorization request for its pages, unless the user chose a language.
 * @param uiLocales as requested in the query, in a pushed request or in a request object
 * @param seconds lifetime
 */
export function uiLocaleCookies(
  request: HttpRequest,
  uiLocales: string | undefined,
  issuer: string,
  seconds: number,
): readonly string[] {
  const language = requestedLanguage(uiLocales);
  return language === null || chosenLanguage(request) !== null
    ? []
    : [languageCookie(language, issuer, seconds)];
}

function languageCookie(language: Language, issuer: string, seconds: number): string {
  const secure = issuer.startsWith('https:') ? '; Secure' : '';
  return `${COOKIE}=${language}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${secure}`;
}

const LANGUAGE_PATH = '/language';

/** Sets the language cookie, and redirects back to the page of the link: the one that it names, else the referrer. */
export function createLanguageSwitch(pages: PageRouterOf<ServerContext>): Route {
  const { options } = pages;
  return pages.route('GET', LANGUAGE_PATH, async ({ layout }, request) => {
    const parameters = readParameters(queryOf(request));
    const chosen = readLanguage(parameters.one('to')) ?? 'en';
    const cookie = languageCookie(chosen, options.issuer, COOKIE_LIFETIME);
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
