/** Finds the route of a request: paths may have parameters such as `{userId}`, which have no slash. */

interface Routed {
  readonly method: string;
  readonly path: string;
}

/** A route with its decoded parameters; or the status of a refusal, with the methods that the path supports. */
type FoundRoute<R> =
  | { readonly route: R; readonly params: Readonly<Record<string, string>> }
  | { readonly route: null; readonly status: 400 | 404 | 405; readonly methods: readonly string[] };

/** The routes of a path. 400: its parameters are not percent-encoded UTF-8. */
export function createFindRoute<R extends Routed>(routes: readonly R[]) {
  const all = routes.map((route) => ({ route, pattern: patternOf(route.path) }));
  return (method: string, path: string): FoundRoute<R> => {
    const matching = all.filter(({ pattern }) => pattern.test(path));
    const methods = [...new Set(matching.map(({ route }) => route.method))];
    const found = matching.find(({ route }) => route.method === method);
    if (found === undefined) return { route: null, status: methods.length === 0 ? 404 : 405, methods };
    const params = Object.entries(found.pattern.exec(path)?.groups ?? {});
    try {
      const decoded = params.map(([name, text]) => [name, decodeURIComponent(text)]);
      return { route: found.route, params: Object.fromEntries(decoded) };
    } catch {
      return { route: null, status: 400, methods };
    }
  };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
}

export function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
