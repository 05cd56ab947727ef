/** Describes a consent request in the language of the page. */
import type { RedirectTarget, Scopes } from '@portcullis/protocol';
import type { Workspace } from '../authorization/options.ts';
import { isTrustedClient, type ResolvedClient } from '../clients/client.ts';
import { clientDisplayName, displayName } from '../display-name.ts';
import type { ResourceDefinition } from '../resources/options.ts';
import type { Layout } from '../ui/layout.ts';
import { translate } from '../ui/translations.ts';
import { claimsToRelease } from '../users/user-claims.ts';
import { clientLogoPath } from './client-logos.ts';
import type { ConsentRequest } from './consent-request.ts';
import type { ConsentPage, DescribedResource } from './consent-view.ts';

/** What the consent page shows of the request itself. */
type DescribedConsent = Omit<
  ConsentPage,
  'account' | 'connections' | 'othersPath' | 'error' | 'chosen' | 'fields' | 'now'
>;

export function describeConsent(
  layout: Layout,
  { client, target }: { readonly client: ResolvedClient; readonly target: RedirectTarget },
  { resource, scopes, withheld, workspace, choices, isFirstUse }: ConsentRequest,
): DescribedConsent {
  const { name, address } = describeResource(resource, resource.resource, [], layout);
  const descriptions = translate(resource, layout.language).scopes;
  const verifiedBy = verifierOf(client);
  const describe = (scope: string) => scopeDescriptionOf(descriptions, scope);
  return {
    appName: clientDisplayName(client, layout),
    logoPath: clientLogoPath(client),
    clientId: client.id,
    registeredAt: client.registeredAt,
    verifiedBy,
    returnTo: target,
    redirectsElsewhere: typeof verifiedBy === 'object' && isOtherHost(target, verifiedBy.host),
    server: { name, address },
    isFirstUse,
    requested: scopes.requested.map((requested) => ({
      ...requested,
      sentence: describe(requested.scope),
      includes: requested.includes.map(describe),
    })),
    alreadyGranted: scopes.alreadyGranted.map(describe),
    isKnown: scopes.isKnown,
    withheld: [...Map.groupBy(withheld, ({ by }) => by)].map(([by, refused]) => ({
      by,
      sentences: refused.map(({ scope }) => describe(scope)),
    })),
    sharedClaims: claimsToRelease(resource, [
      ...scopes.alreadyGranted,
      ...scopes.requested.map(({ scope }) => scope),
    ]),
    workspace: workspace === null ? { choices: choices.map(named) } : { chosen: named(workspace) },
  };
}

function named({ id, name }: Workspace): Workspace {
  return { id, name: displayName(name) || id };
}

/** Who verified the client's name: the operator who set it up or looked at it, the host of its metadata document, or only the client itself. */
export function verifierOf(client: ResolvedClient): ConsentPage['verifiedBy'] {
  if (isTrustedClient(client)) return 'operator';
  if (client.isVerified) return 'verified';
  return client.origin === 'metadata-document' ? { host: new URL(client.id).host } : 'unverified';
}

/** Whether the redirect URI is on another host than the client's metadata document. */
function isOtherHost({ uri, kind }: RedirectTarget, host: string): boolean {
  return kind === 'https' && new URL(uri).host !== host;
}

/** Names a resource and its scopes in the language of a page. One that has been removed from the configuration is shown by its URI. */
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

/** A scope that has been removed from the configuration is shown by its name. */
function scopeDescriptionOf(sentences: ResourceDefinition['scopes'], scope: string): string {
  return Object.hasOwn(sentences, scope) ? (sentences[scope] ?? scope) : scope;
}
