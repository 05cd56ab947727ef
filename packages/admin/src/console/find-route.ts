/** Finds the route of a request to the console. */
import type { ConsoleRoute } from './page.ts';
import { PageError } from './page-error.ts';

/** `/admin/users/{userId}` → a pattern with named groups; a parameter has no slash. */
export function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
}

/** @throws PageError 404 or 405 */
export function findRoute(
  routes: readonly { readonly route: ConsoleRoute; readonly pattern: RegExp }[],
  method: string,
  path: string,
): { readonly route: ConsoleRoute; readonly params: Readonly<Record<string, string>> } {
  const matching = routes.filter(({ pattern }) => pattern.test(path));
  if (matching.length === 0)
    throw new PageError(
      404,
      'There is no such page',
      'The address may have changed, or what it showed is gone.',
    );
  const found = matching.find(({ route }) => route.method === (method === 'HEAD' ? 'GET' : method));
  if (found === undefined)
    throw new PageError(
      405,
      'This address is for a form',
      'Open the page of the form, and send it from there.',
    );
  return { route: found.route, params: decodeAll(found.pattern.exec(path)?.groups ?? {}) };
}

function decodeAll(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  try {
    return Object.fromEntries(Object.entries(params).map(([name, text]) => [name, decodeURIComponent(text)]));
  } catch {
    throw new PageError(400, 'This address cannot be read', 'It is not percent-encoded UTF-8.');
  }
}
