/**
 * Logos of clients that the operator is responsible for: fetched by this server and served from its own origin, so that no page
 * makes a user's browser contact anyone else. All other clients get monograms, because a logo proves nothing.
 */
import { type HttpResponse, pathOf, respond } from '@portcullis/http';
import { beforeAbort, createLruCache, readBytes } from '@portcullis/protocol';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import { isTrustedClient, type ResolvedClient } from '../clients/client.ts';
import { clientDisplayName } from '../display-name.ts';
import type { Route } from '../http/router.ts';
import { createSingleFlight } from '../single-flight.ts';
import { type Logo, readLogo } from '../ui/brand.ts';
import { monogram } from '../ui/marks.ts';

const PATH = '/logos/';

/** Cache time of a logo, and of a failure. Seconds. */
const CACHE_TIME = { found: 86_400, failed: 600 } as const;

const MAX_BYTES = 65_536;
const MAX_LOGOS = 100;

/** Path of a client's logo; `null`: it has none, or none that may be shown. */
export function clientLogoPath(client: ResolvedClient): string | null {
  return logoUrlOf(client) === null ? null : `${PATH}${Buffer.from(client.id).toString('base64url')}`;
}

function logoUrlOf(client: ResolvedClient): string | null {
  const { logo_uri: uri } = client.metadata;
  return isTrustedClient(client) && uri !== undefined && URL.parse(uri)?.protocol === 'https:' ? uri : null;
}

/** Serves the logos. While one cannot be fetched, its client has a monogram. */
export function createClientLogoRoute(pages: PageRouter): Route {
  const { findClient } = pages;
  const load = createLogoLoader(pages);
  return pages.route('GET', `${PATH}*`, async (context, request) => {
    const id = Buffer.from(pathOf(request).slice(PATH.length), 'base64url').toString();
    // Metadata documents are never fetched for a picture.
    const client = /^(?!https?:)[\x21-\x7e]+$/i.test(id) ? await findClient(id, 'resume') : null;
    const url = client === null ? null : logoUrlOf(client);
    if (client === null || url === null)
      return respondImage(404, 'text/plain; charset=utf-8', 'No logo.\n', 0);
    const logo = await load(url);
    return logo === null
      ? respondImage(200, 'image/svg+xml', await drawMonogram(context, client), 0)
      : respondImage(200, logo.type, logo.bytes, CACHE_TIME.found);
  });
}

async function drawMonogram({ layout }: PageContext, client: ResolvedClient): Promise<string> {
  const svg = String(await monogram(clientDisplayName(client, layout), client.id));
  const font = 'font-family="system-ui, sans-serif" font-size="15" font-weight="600"';
  return svg.replace('<svg ', `<svg xmlns="http://www.w3.org/2000/svg" ${font} `);
}

function respondImage(
  status: number,
  type: string,
  body: string | Uint8Array<ArrayBuffer>,
  maxAge: number,
): HttpResponse {
  const headers = {
    'content-type': type,
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': maxAge === 0 ? 'no-store' : `private, max-age=${maxAge}`,
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  };
  return respond(status, headers, body);
}

/** Loads each logo once at a time, with the SSRF guard of all outbound requests, and remembers it or its failure. */
function createLogoLoader({
  options: { outbound },
  clock,
}: PageRouter): (url: string) => Promise<Logo | null> {
  const cache = createLruCache<{ readonly logo: Logo | null; readonly until: number }>({
    entries: MAX_LOGOS,
  });
  const loads = createSingleFlight<Logo | null>(outbound.timeout);
  return async (url) => {
    const known = cache.get(url);
    if (known !== undefined && known.until > clock()) return known.logo;
    return loads.run(url, async () => {
      const logo = await fetchLogo(url, outbound).catch(() => null);
      cache.set(url, { logo, until: clock() + (logo === null ? CACHE_TIME.failed : CACHE_TIME.found) });
      return logo;
    });
  };
}

async function fetchLogo(
  url: string,
  { fetch, timeout }: PageRouter['options']['outbound'],
): Promise<Logo | null> {
  const signal = AbortSignal.timeout(timeout);
  const pending = fetch(url, {
    headers: { accept: 'image/png, image/jpeg, image/webp' },
    redirect: 'manual',
    signal,
  });
  const response = await beforeAbort(pending, signal);
  if (response.status !== 200) {
    // Not awaited: the host decides how long that lasts.
    void response.body?.cancel().catch(() => {});
    return null;
  }
  const tooLong = () => new RangeError(`more than ${MAX_BYTES} bytes`);
  const bytes = await readBytes(response.body, { limit: MAX_BYTES, tooLong, signal });
  const logo = readLogo(bytes);
  // An SVG could contain anything.
  return logo?.ending === 'svg' ? null : logo;
}
