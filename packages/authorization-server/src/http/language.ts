/** The language of a browser: its cookie when somebody switched, else what it prefers; and the switch itself. */
import { type HttpRequest, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { PageContext } from '../page-context.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { type Language, languageTags, preferredLanguage, readLanguage } from '../ui/texts/languages.ts';
import type { Route } from './router.ts';

/** No secret, and nothing is decided by it: it needs no prefix. */
const COOKIE = 'portcullis-language';
/** A year, in seconds. */
const KEPT = 31_536_000;

function languageOf({ headers }: HttpRequest): Language {
  const sent = headers.get('cookie')?.split(';') ?? [];
  const chosen = sent.map((pair) => pair.trim().split('=')).find(([name]) => name === COOKIE)?.[1];
  return readLanguage(chosen) ?? preferredLanguage(headers.get('accept-language'));
}

/** The same routes in every language: each request is answered by those of its own. */
export function inTheirLanguage(routesIn: (language: Language) => readonly Route[]): readonly Route[] {
  const others = new Map(languageTags.map((language) => [language, routesIn(language)]));
  return (others.get('en') ?? []).map((route, index) => {
    const own = (request: HttpRequest): Route => others.get(languageOf(request))?.[index] ?? route;
    const { refuseMethod } = route;
    return {
      ...route,
      handle: (request, connection) => own(request).handle(request, connection),
      ...(refuseMethod !== undefined && {
        refuseMethod: (request: HttpRequest) => (own(request).refuseMethod ?? refuseMethod)(request),
      }),
    };
  });
}

/** Where the switch leads to. */
const LANGUAGE_PATH = '/language';

/** A link that sets the cookie and leads back to the page where it stood, which it names, or else the browser does. */
export function createLanguageSwitch({ options, errors, layout }: PageContext): Route {
  const isSecure = options.issuer.startsWith('https:');
  return errors.route('GET', LANGUAGE_PATH, async (request) => {
    const parameters = readParameters(queryOf(request));
    const chosen = readLanguage(parameters.one('to')) ?? 'en';
    const cookie = `${COOKIE}=${chosen}; Max-Age=${KEPT}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    const back = ownPath(placeOf(parameters.one('back'), request, options.issuer), options.issuer);
    if (back !== null) return respondRedirect(back, [cookie]);
    const page = messagePage(layout, {
      heading: layout.text('language.changed'),
      sentences: [layout.text('language.go-back')],
    });
    return respondPage(page, { cookies: [cookie] });
  });
}

/** Where the link stood: as it says, or else as the browser does. */
function placeOf(back: string | undefined, { headers }: HttpRequest, issuer: string): string | null {
  return back === undefined ? headers.get('referer') : (URL.parse(back, issuer)?.href ?? null);
}

/** A path of this server; never one that a browser could take for another host's. */
function ownPath(address: string | null, issuer: string): string | null {
  const url = address === null ? null : URL.parse(address);
  if (url === null || url.origin !== new URL(issuer).origin) return null;
  return /^\/(?!\/)/.test(url.pathname) && url.pathname !== LANGUAGE_PATH ? url.pathname + url.search : null;
}
