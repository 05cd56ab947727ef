/** Where servers may be, beside the routes of the authorization server, the program and the application. */
import { SettingsError } from '../errors.ts';
import type { Settings } from '../settings/schema.ts';

const SERVICE_PATHS = ['/healthz', '/readyz', '/metrics', '/.well-known'];

/**
 * The paths of the configured servers.
 * @param routes of the authorization server, where it was created already
 * @throws SettingsError
 */
export function checkServerPaths(
  { servers, admin, sharedSignals, strippedPrefix }: Settings,
  application: { readonly path: string } | null,
  routes: readonly string[],
): void {
  const own = [
    ...SERVICE_PATHS,
    ...(admin === null ? [] : ['/admin/*']),
    ...(sharedSignals === null ? [] : ['/ssf/*']),
  ];
  const paths = servers.map(({ path }) => path);
  checkPaths(paths, [...routes, ...own], application?.path ?? null, strippedPrefix);
}

/**
 * @param strippedPrefix servers are also reachable without this path prefix
 * @throws SettingsError if a server would shadow, or be shadowed by, pages and endpoints of the authorization server, the application, or another server
 */
export function checkPaths(
  paths: readonly string[],
  routes: readonly string[],
  application: string | null,
  strippedPrefix: string | null,
): void {
  const others = [...routes, ...(application === null ? [] : [application])];
  const issues = paths.flatMap((path, index) => {
    const hidden = others.find((one) => hides(path, one));
    if (hidden !== undefined) return [`servers.${index}.path is ${path}, which would hide ${hidden}`];
    const outer = others.find((one) => includes(one, path));
    if (outer !== undefined) return [`servers.${index}.path is ${path}, which is below ${outer}`];
    if (strippedPrefix === null || !path.startsWith(`${strippedPrefix}/`)) return [];
    const short = path.slice(strippedPrefix.length);
    const taken = others.find((one) => hides(short, one)) ?? paths.find((one) => one === short);
    return taken === undefined
      ? []
      : [`servers.${index}.path is ${path}, which without strippedPrefix would be ${taken}`];
  });
  if (issues.length > 0) throw new SettingsError(issues);
}

/** Whether a route such as `/admin/*` serves that path. */
function includes(route: string, path: string): boolean {
  return route.endsWith('/*') && path.toLowerCase().startsWith(route.slice(0, -1).toLowerCase());
}

function hides(path: string, other: string): boolean {
  return `${other.replace(/\/\*$/, '')}/`.toLowerCase().startsWith(`${path}/`.toLowerCase());
}
