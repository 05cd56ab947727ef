/** Warns about scopes of a new client: none for an application, or ones that no protected server defines. */
import { findSimilarName } from '@portcullis/protocol';
import { isObject, parseJson } from '../../json.ts';
import type { Settings } from '../../settings/schema.ts';
import { cleanLine } from '../../terminal/clean.ts';
import { issuerOf } from '../with-store.ts';

/** Timeout in milliseconds for fetching the running server's metadata. */
const METADATA_TIMEOUT = 2_000;

/**
 * Returns a warning for each unknown scope, or for none. It is not an error: the server that defines it may not be configured yet.
 * @param document the client's metadata
 */
export async function warnOfScopes(
  document: { readonly scope?: unknown; readonly grant_types?: unknown },
  settings: Settings,
): Promise<readonly string[]> {
  const requested =
    typeof document.scope === 'string' ? document.scope.split(' ').filter((scope) => scope !== '') : [];
  if (requested.length === 0) {
    const { grant_types: grants } = document;
    const isApplication = Array.isArray(grants) && grants.includes('client_credentials');
    return isApplication
      ? ['The client registered no scope, so its own tokens have none: name scopes with --scope']
      : [];
  }
  const known = await findScopes(settings);
  if (known === null) return [];
  return requested
    .filter((scope) => !known.includes(scope))
    .map((scope) => {
      const similar = findSimilarName(scope, known);
      const advice = similar === null ? `known scopes are ${known.join(', ')}` : `did you mean ${similar}?`;
      return cleanLine(`No protected server has the scope ${scope}: ${advice}`);
    });
}

/** Reads the scopes from the configuration if it lists all servers, otherwise from the running server's metadata. @returns `null` if unknown */
async function findScopes(settings: Settings): Promise<readonly string[] | null> {
  const { resources, app } = settings;
  if (app === null && resources.length > 0) return resources.flatMap(({ scopes }) => Object.keys(scopes));
  const metadataUrl = `${new URL(issuerOf(settings)).origin}/.well-known/oauth-authorization-server`;
  try {
    const response = await fetch(metadataUrl, {
      signal: AbortSignal.timeout(METADATA_TIMEOUT),
      redirect: 'error',
    });
    const document = parseJson(await response.text());
    const scopes = isObject(document) ? document['scopes_supported'] : null;
    return Array.isArray(scopes) && scopes.length > 0 ? scopes.map(String) : null;
  } catch {
    return null;
  }
}
