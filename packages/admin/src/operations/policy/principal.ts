/** A supposed caller: a user as the store knows them, with the token that a client would have. */
import {
  type AccountAdministration,
  createAccountAdministration,
  createConnectionAdministration,
  type ListedAccount,
} from '@portcullis/authorization-server';
import { type GatewayServer, resourcesOf } from '@portcullis/gateway/options';
import {
  type AccessPrincipal,
  type AccessSubject,
  type ScopeLimits,
  unmetCondition,
} from '@portcullis/policy';
import type { Scopes } from '@portcullis/protocol';
import { findServerAt } from './operation.ts';

/** A supposed token. */
export interface SupposedToken {
  /** Path of the server that the token is for. */
  readonly server: string;
  /** `client_id`; empty: none is named. */
  readonly client: string;
  /** `null`: those of the user's connection with the client, or all that the user can be granted. */
  readonly scopes: Scopes | null;
  /** Further claims, such as `acr`. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A supposed caller, and what limits it. */
export interface SupposedPrincipal {
  readonly principal: AccessPrincipal;
  /** All groups of the user, also if the token does not contain them. */
  readonly groups: readonly string[];
  /** Scopes of the server that the user cannot be granted, and why. */
  readonly notGrantable: readonly { readonly scope: string; readonly reason: string }[];
}

/** What is known of a user. */
type KnownClaims = Awaited<ReturnType<AccountAdministration['claims']>>;

/** Makes principals of accounts, and of groups. */
export function createPrincipals(
  { servers }: { readonly servers: readonly GatewayServer[] },
  tools: Parameters<typeof createConnectionAdministration>[0],
  issuer: string,
) {
  const accounts = createAccountAdministration({ ...tools, issuer });
  const connections = createConnectionAdministration(tools);
  const resources = resourcesOf(servers);

  async function principalOf(account: ListedAccount, token: SupposedToken): Promise<SupposedPrincipal> {
    const { resource } = findServerAt(servers, token.server);
    const connected =
      token.scopes === null ? await scopesOfConnection(account.id, token.client, resource) : null;
    return suppose(account.id, await accounts.claims(account.id), {
      ...token,
      scopes: token.scopes ?? connected,
    });
  }

  /** A user whose only known claim is one group. */
  function memberOf(group: string, token: SupposedToken): SupposedPrincipal {
    return suppose('', { groups: [group] }, token);
  }

  function suppose(id: string, known: KnownClaims, token: SupposedToken): SupposedPrincipal {
    const { resource } = findServerAt(servers, token.server);
    const definition = resources.find((one) => one.resource === resource);
    const { scopes = {}, grantableTo = {}, claims: released = [] } = definition ?? {};
    const about = Object.fromEntries(
      released.flatMap((name) => (name in known ? [[name, known[name]]] : [])),
    );
    const subject = { clientId: token.client, groups: known.groups ?? [], claims: { ...known } };
    const notGrantable = findLimited(Object.keys(scopes), grantableTo, subject);
    const granted =
      token.scopes ?? Object.keys(scopes).filter((scope) => !notGrantable.some((one) => one.scope === scope));
    const registered = { iss: issuer, sub: id, aud: resource, client_id: token.client };
    const claims = { ...registered, ...about, ...token.claims };
    return {
      principal: { ...subject, subject: id, scopes: granted, claims, groups: groupsIn(claims) },
      groups: subject.groups,
      notGrantable,
    };
  }

  async function scopesOfConnection(id: string, client: string, resource: string): Promise<Scopes | null> {
    if (client === '') return null;
    const found = (await connections.list(id)) ?? [];
    const own = found.find((one) => one.clientId === client && one.resources.includes(resource));
    return own?.scopes ?? null;
  }

  return { accounts, principalOf, memberOf };
}

function groupsIn({ groups }: Readonly<Record<string, unknown>>): readonly string[] {
  return Array.isArray(groups) ? groups.filter((group) => typeof group === 'string') : [];
}

function findLimited(scopes: Scopes, limits: ScopeLimits, subject: AccessSubject) {
  return scopes.flatMap((scope) => {
    const limit = Object.hasOwn(limits, scope) ? limits[scope] : undefined;
    const unmet = limit === undefined ? null : unmetCondition(limit, subject);
    return unmet === null ? [] : [{ scope, reason: unmet.reason }];
  });
}
