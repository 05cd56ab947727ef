/** Downscoping: restricts a token to one resource and to scopes within the maximum scope of its grant. */
import {
  findResource,
  missingScopes,
  OAuthError,
  type RequestedAccess,
  type Scopes,
} from '@portcullis/protocol';
import { withinMaximumScope } from '../authorization/resolve-scopes.ts';
import type { ResolvedClient } from '../clients/client.ts';
import type { ResourceDefinition } from '../resources/options.ts';
import { explainRefusal, findScopeLimit, notGrantable, type ScopeRecipient } from '../users/scope-limits.ts';
import type { TokenContext } from './options.ts';

/** The maximum access, as granted. */
export interface GrantedAccess {
  /** At least one; a request that names none means the first. */
  readonly resources: readonly string[];
  readonly scopes: Scopes;
}

/** The access of one token: one resource as its audience, and scopes that the resource defines. */
export interface DownscopedAccess {
  readonly resource: string;
  readonly scopes: Scopes;
}

/**
 * Restricts granted access to one resource, to what may be granted to the recipient now, and, if requested, to fewer scopes. It
 * never widens it. No tokens are issued for a resource or scope that was removed since the grant.
 * @throws OAuthError `invalid_target` or `invalid_scope`
 * @see RFC 8707 §2.2, RFC 6749 §6, OAuth 2.1 draft 13 §4.3.1
 */
export async function downscope(
  context: Pick<TokenContext, 'store' | 'options'>,
  recipient: ScopeRecipient,
  granted: GrantedAccess,
  requested: RequestedAccess,
): Promise<DownscopedAccess> {
  const definition = context.options.resources.get(chooseResource(granted.resources, requested.resources));
  if (definition === undefined) {
    throw new OAuthError('invalid_target', 'This authorization server no longer protects that resource.');
  }
  const isDefined = (scope: string) => Object.hasOwn(definition.scopes, scope);
  const defined = granted.scopes.every(isDefined) ? granted.scopes : granted.scopes.filter(isDefined);
  const limit = await findScopeLimit(context, definition, recipient, defined);
  const available = limit.grantable(defined);
  const isOfClient = recipient.accountId === null;
  const scopes = isOfClient ? knownScopes(requested.scopes, definition) : requested.scopes;
  const missing = missingScopes(scopes ?? [], available, definition.hierarchy);
  if (missing.length > 0) {
    const isLimited = (scope: string) => missingScopes([scope], defined, definition.hierarchy).length === 0;
    throw new OAuthError(
      'invalid_scope',
      isOfClient
        ? 'Request scopes of that resource that the client may have, or leave out scope.'
        : 'Request scopes of that resource that were granted, or leave out scope.',
      explainRefusal(limit, missing.filter(isLimited)),
    );
  }
  return { resource: definition.resource, scopes: scopes ?? available };
}

/** Without a user, scopes that the resource does not have are left out as long as others remain, as at the authorization endpoint. */
function knownScopes(requested: Scopes | null, { scopes }: ResourceDefinition): Scopes | null {
  const known = requested?.filter((scope) => Object.hasOwn(scopes, scope)) ?? [];
  return known.length > 0 ? known : requested;
}

/** Restricts what a user granted to a client, at most to the client's maximum scope, which may be less than at the time of consent. */
export function downscopeGrant(
  context: Pick<TokenContext, 'store' | 'options'>,
  client: ResolvedClient,
  grant: { readonly accountId: string } & GrantedAccess,
  requested: RequestedAccess,
): Promise<DownscopedAccess> {
  const { resources } = context.options;
  const definition = resources.get(chooseResource(grant.resources, requested.resources));
  const scopes = withinMaximumScope(context.options, client, grant.scopes, definition?.hierarchy);
  const recipient = { clientId: client.id, accountId: grant.accountId };
  return downscope(context, recipient, { resources: grant.resources, scopes }, requested);
}

/**
 * Where no user could see it on a page, a token without any of the scopes that were to be granted is refused.
 * @throws OAuthError `invalid_scope`
 */
export async function checkGranted(
  context: Pick<TokenContext, 'store' | 'options'>,
  recipient: ScopeRecipient,
  granted: Pick<GrantedAccess, 'scopes'>,
  { resource, scopes }: DownscopedAccess,
): Promise<void> {
  const definition = context.options.resources.get(resource);
  if (scopes.length > 0 || definition === undefined) return;
  const limited = granted.scopes.filter((scope) => Object.hasOwn(definition.scopes, scope));
  if (limited.length === 0) return;
  throw notGrantable('client', await findScopeLimit(context, definition, recipient, limited), limited);
}

/** A token has one audience, so a request may name only one resource. */
export function chooseResource(granted: readonly string[], requested: readonly string[]): string {
  const [resource = granted[0], ...others] = requested.map((one) =>
    findResource(granted, one, 'The grant does not cover that resource.'),
  );
  if (others.some((other) => other !== resource))
    throw new OAuthError('invalid_target', 'Request one resource at a time: a token has one audience.');
  if (resource === undefined) throw new OAuthError('invalid_target', 'The grant covers no resource.');
  return resource;
}
