/** Redirects a form that another site posted to the same path by GET, because SameSite=Lax cookies are sent only then. */
import type { HttpResponse } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
import { respondRedirect } from '../ui/respond-page.ts';

/** Octets of a URL that all recipients SHOULD support at least. @see RFC 9110 §4.1 */
export const MAX_URL_LENGTH = 8_000;

/**
 * Redirects to a path with the named parameters of a form as its query; `null` when the URL would be too long.
 * @see RFC 6265bis §5.6.7.1
 */
export function redirectFormToGet(
  path: string,
  names: readonly string[],
  form: Parameters,
  issuer: string,
): HttpResponse | null {
  const pairs = names.flatMap((name) => form.all(name).map((value): [string, string] => [name, value]));
  const location = `${path}?${new URLSearchParams(pairs)}`;
  return new URL(location, issuer).href.length > MAX_URL_LENGTH ? null : respondRedirect(location);
}
