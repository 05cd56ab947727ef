/** Path and query of a request, without parsing a URL that is already normalized. */
import type { HttpRequest } from './http-request.ts';

/** The last one read, since every layer of the server asks for the path of the same request. */
let last = { url: '', path: '' };

/** Returns what `new URL(request.url).pathname` would: request URLs are absolute and normalized. */
export function pathOf({ url }: Pick<HttpRequest, 'url'>): string {
  if (url !== last.url) last = { url, path: readPath(url) };
  return last.path;
}

function readPath(url: string): string {
  const begin = url.indexOf('/', url.indexOf('://') + 3);
  const end = url.slice(begin).search(/[?#]/);
  return end === -1 ? url.slice(begin) : url.slice(begin, begin + end);
}

/** Returns the query as sent, without the question mark; empty if there is none. */
export function queryOf({ url }: Pick<HttpRequest, 'url'>): string {
  const [beforeFragment = ''] = url.split('#', 1);
  const begin = beforeFragment.indexOf('?');
  return begin === -1 ? '' : beforeFragment.slice(begin + 1);
}
