/** A protected server in words of people. */
import type { Scopes } from '@portcullis/protocol';
import type { ResourceDefinition } from '../configuration.ts';
import type { AskedResource } from '../pages/consent.ts';

/** A resource in words. One that left the configuration meanwhile is shown as it stands in the store. */
export function describeResource(
  definition: ResourceDefinition | undefined,
  resource: string,
  scopes: Scopes,
): AskedResource {
  const url = new URL(resource);
  const sentences = scopes.map((scope) => definition?.scopes[scope] ?? scope);
  return {
    name: definition?.name ?? url.host,
    place: `${url.host}${url.pathname === '/' ? '' : url.pathname}`,
    powers: sentences.length === 0 ? ['Use it in your name'] : sentences,
  };
}
