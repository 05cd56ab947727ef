/** A protected server in words of people, in the language of their page. */
import type { Scopes } from '@portcullis/protocol';
import type { ResourceDefinition } from '../options.ts';
import type { Layout } from '../ui/layout.ts';
import { translate } from '../ui/translations.ts';
import type { DescribedResource } from './consent-view.ts';

/** A resource in words. One that left the configuration meanwhile is shown as it stands in the store. */
export function describeResource(
  definition: ResourceDefinition | undefined,
  resource: string,
  scopes: Scopes,
  { text, language }: Pick<Layout, 'text' | 'language'>,
): DescribedResource {
  const url = new URL(resource);
  const described = definition === undefined ? undefined : translate(definition, language);
  const sentences = scopes.map((scope) => scopeDescriptionOf(described?.scopes ?? {}, scope));
  return {
    name: described?.name ?? url.host,
    address: `${url.host}${url.pathname === '/' ? '' : url.pathname}`,
    permissions: sentences.length === 0 ? [text('consent.in-your-name')] : sentences,
  };
}

/** A scope that means nothing here any more stands for itself. */
export function scopeDescriptionOf(sentences: ResourceDefinition['scopes'], scope: string): string {
  return Object.hasOwn(sentences, scope) ? (sentences[scope] ?? scope) : scope;
}
