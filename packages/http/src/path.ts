/** The path and the query of a request, without parsing what is parsed already. */
import type { HttpRequest } from './http-request.ts';

/** The one that was read last: each layer that a request comes through asks for its path. */
let last = { url: '', path: '' };

/** The path as `new URL(asked.url).pathname` has it: the URL of a request is absolute, and written in the one way that URLs are. */
export function pathOf({ url }: Pick<HttpRequest, 'url'>): string {
  if (url !== last.url) last = { url, path: readPath(url) };
  return last.path;
}

function readPath(url: string): string {
  const begin = url.indexOf('/', url.indexOf('://') + 3);
  const end = url.slice(begin).search(/[?#]/);
  return end === -1 ? url.slice(begin) : url.slice(begin, begin + end);
}

/** The query as it was sent, without the question mark; empty when there is none. */
export function queryOf({ url }: Pick<HttpRequest, 'url'>): string {
  const [beforeFragment = ''] = url.split('#', 1);
  const begin = beforeFragment.indexOf('?');
  return begin === -1 ? '' : beforeFragment.slice(begin + 1);
}
