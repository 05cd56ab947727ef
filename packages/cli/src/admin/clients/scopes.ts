/** Scopes of a client that no protected server has: by them it gets nothing, and nobody says so until it asks. */
import { findSimilarName } from '@portcullis/protocol/option-names';
import { isObject, parseJson } from '../../json.ts';
import type { Settings } from '../../settings/schema.ts';
import { cleanLine } from '../../terminal/clean.ts';
import { issuerOf } from '../with-store.ts';

/** Milliseconds that the server beside this command has to say what there is. */
const PATIENCE = 2_000;

/**
 * A sentence for each scope that nobody has. It is no fault: the server that has it may be on its way into the configuration.
 * @param document the metadata of the client
 */
export async function warnOfScopes(
  document: { readonly scope?: unknown },
  settings: Settings,
): Promise<readonly string[]> {
  const asked =
    typeof document.scope === 'string' ? document.scope.split(' ').filter((scope) => scope !== '') : [];
  if (asked.length === 0) return [];
  const known = await findScopes(settings);
  if (known === null) return [];
  return asked
    .filter((scope) => !known.includes(scope))
    .map((scope) => {
      const meant = findSimilarName(scope, known);
      const advice = meant === null ? `there are ${known.join(', ')}` : `did you mean ${meant}?`;
      return cleanLine(`No protected server has the scope ${scope}: ${advice}`);
    });
}

/** Those of the configuration, where it names all servers; else those that the server beside this command tells. `null`: nobody knows. */
async function findScopes(settings: Settings): Promise<readonly string[] | null> {
  const { resources, app } = settings;
  if (app === null && resources.length > 0) return resources.flatMap(({ scopes }) => Object.keys(scopes));
  const place = `${new URL(issuerOf(settings)).origin}/.well-known/oauth-authorization-server`;
  try {
    const answer = await fetch(place, { signal: AbortSignal.timeout(PATIENCE), redirect: 'error' });
    const document = parseJson(await answer.text());
    const told = isObject(document) ? document['scopes_supported'] : null;
    return Array.isArray(told) && told.length > 0 ? told.map(String) : null;
  } catch {
    return null;
  }
}
