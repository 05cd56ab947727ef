/** What exchanges tell, read from the outside: whose they are, what they were for, what they name. */
import { isObject, parseJson } from '../json.ts';
import type { Exchange, Party } from './report.ts';

/** One origin may hold both: the server's own path and its metadata are the server's. */
export function partyIn(server: string): (url: URL) => Party {
  const own = new URL(server);
  return (url) =>
    url.origin === own.origin &&
    (url.pathname === own.pathname || url.pathname.startsWith('/.well-known/oauth-protected-resource'))
      ? 'server'
      : 'authorization server';
}

export function isServerMetadata(url: string): boolean {
  return /\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/.test(url);
}

/** The authorization servers that the metadata names, or the server's own origin. */
export function issuersOf(answers: readonly Exchange[], server: string): readonly string[] {
  for (const { body } of answers) {
    const json = parseJson(body);
    const named = isObject(json) ? json['authorization_servers'] : null;
    if (Array.isArray(named)) return named.filter((issuer) => URL.canParse(issuer)).map(String);
  }
  return [new URL(server).origin];
}

/** What each place answered that had no document. */
export function refusalsIn(answers: readonly Exchange[]): ReadonlyMap<string, readonly string[]> {
  const refusals = new Map<string, readonly string[]>();
  for (const { url, status } of answers.filter((answer) => isServerMetadata(answer.url))) {
    if (status !== null && status < 300) continue;
    const { origin } = new URL(url);
    refusals.set(origin, [...(refusals.get(origin) ?? []), String(status ?? 'no answer')]);
  }
  return refusals;
}

export function describeMetadata(answers: readonly Exchange[], isOld: boolean): string {
  if (isOld) return 'none, so the server is its own authorization server';
  const found = answers.find(({ status }) => status !== null && status < 300);
  return found === undefined ? 'none was found' : `found at ${found.url}`;
}

/**
 * The error that a page keeps for the client until the person goes on: servers do not redirect to a client that nobody vouches
 * for. `null`: none.
 */
export function refusalOnPage(page: string, redirectUri: string): Readonly<Record<string, string>> | null {
  for (const [, link = ''] of page.matchAll(/ href="([^"]*)"/g)) {
    const address = link.replaceAll('&amp;', '&');
    const parameters = address.startsWith(redirectUri) ? URL.parse(address)?.searchParams : null;
    if (parameters?.has('error') === true) return Object.fromEntries(parameters);
  }
  return null;
}
