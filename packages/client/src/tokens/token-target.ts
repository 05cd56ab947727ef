/** Which URLs receive the token: those below the path of its resource, in whole segments. */
import { coversResource } from '@portcullis/protocol';
import type { ClientSettings } from '../settings.ts';
import type { Tokens } from '../storage/credentials.ts';

/** Whether requests to a URL carry the token. `null`: there is none yet. */
export type IsTokenTarget = (href: string, tokens: Pick<Tokens, 'resource'> | null) => boolean;

/** Creates the function for one server. Its own URL is always a target, other origins never are. */
export function createTokenTargets({
  server,
  sendTokenTo,
}: Pick<ClientSettings, 'server' | 'sendTokenTo'>): IsTokenTarget {
  const own = new URL(server);
  let resource: { readonly named: string | null; readonly url: URL } = { named: null, url: own };

  return (href, tokens) => {
    if (href === own.href) return true;
    const url = new URL(href);
    if (url.origin !== own.origin) return false;
    if (sendTokenTo === 'origin') return true;
    if (isBelow(url, resourceUrl(tokens?.resource ?? null))) return true;
    return typeof sendTokenTo === 'function' && sendTokenTo(url);
  };

  /** The resource of the token, which may cover more of the origin than the server's own URL. */
  function resourceUrl(named: string | null): URL {
    if (resource.named !== named)
      resource = { named, url: named !== null && coversResource(named, server) ? new URL(named) : own };
    return resource.url;
  }
}

/** The query of a resource is part of its identifier. */
function isBelow(url: URL, resource: URL): boolean {
  const path = resource.pathname.replace(/\/$/, '');
  if (resource.search !== '' && url.search !== resource.search) return false;
  if (url.pathname === path) return true;
  if (!url.pathname.startsWith(`${path}/`)) return false;
  return path === '' || staysBelow(url.pathname.slice(path.length));
}

/**
 * Whether servers and proxies that decode a path once more, or ignore path parameters, arrive below the resource too: no
 * encoded separator, no dot segment. Dot segments that are written plainly are resolved by the URL parser.
 */
function staysBelow(path: string): boolean {
  for (let text = path; ; ) {
    if (/[\\\p{Cc}]/u.test(text) || /\/\.{1,2}(?:[/;]|$)/.test(text)) return false;
    const decoded = decodeOrNull(text);
    if (decoded === text) return true;
    if (decoded === null || decoded.split('/').length !== text.split('/').length) return false;
    text = decoded;
  }
}

function decodeOrNull(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
