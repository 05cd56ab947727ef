/** Reads recorded exchanges: which server they belong to, and what their documents name. */
import { readWebUrl } from '@portcullis/protocol';
import { isObject, parseJson } from '../json.ts';
import type { Exchange, Party } from './report.ts';

/**
 * Both servers may share an origin: the server's own path and its metadata belong to the server.
 * @param isEndpoint whether a URL is the message endpoint of an HTTP+SSE server
 */
export function partyIn(server: string, isEndpoint: (url: URL) => boolean): (url: URL) => Party {
  const own = new URL(server);
  return (url) =>
    url.origin === own.origin &&
    (url.pathname === own.pathname ||
      isEndpoint(url) ||
      url.pathname.startsWith('/.well-known/oauth-protected-resource'))
      ? 'server'
      : 'authorization server';
}

/** The media type of a response, in lower case. */
export function mediaTypeOf({ headers }: Exchange): string | undefined {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
}

/** Whether a URL is a location of authorization server metadata. */
export function isServerMetadata(url: string): boolean {
  return /\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/.test(url);
}

/** Returns the authorization servers named by the metadata, or the server's own origin. */
export function issuersOf(responses: readonly Exchange[], server: string): readonly string[] {
  for (const { body } of responses) {
    const json = parseJson(body);
    const named = isObject(json) ? json['authorization_servers'] : null;
    if (Array.isArray(named))
      return named.filter((issuer) => typeof issuer === 'string' && readWebUrl(issuer) !== null);
  }
  return [new URL(server).origin];
}

/** Collects, by origin, the statuses of metadata locations without a document. */
export function refusalsIn(responses: readonly Exchange[]): ReadonlyMap<string, readonly string[]> {
  const refusals = new Map<string, readonly string[]>();
  for (const { url, status } of responses.filter((response) => isServerMetadata(response.url))) {
    if (status !== null && status < 300) continue;
    const { origin } = new URL(url);
    refusals.set(origin, [...(refusals.get(origin) ?? []), String(status ?? 'no response')]);
  }
  return refusals;
}

export function describeMetadata(responses: readonly Exchange[], isOld: boolean): string {
  if (isOld) return 'none, so the server is its own authorization server';
  const found = responses.find(({ status }) => status !== null && status < 300);
  return found === undefined ? 'not found' : `found at ${found.url}`;
}

/**
 * Finds the error in the link back to the client: servers show a page instead of redirecting to a client that is not trusted.
 * @returns `null` if the page has none
 */
export function refusalOnPage(page: string, redirectUri: string): Readonly<Record<string, string>> | null {
  for (const [, link = ''] of page.matchAll(/ href="([^"]*)"/g)) {
    const address = link.replaceAll('&amp;', '&');
    const parameters = address.startsWith(redirectUri) ? URL.parse(address)?.searchParams : null;
    if (parameters?.has('error') === true) return Object.fromEntries(parameters);
  }
  return null;
}
