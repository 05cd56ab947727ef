/** The protected resources of the gateway, as the authorization server issues tokens for them. */
import type { ResourceOptions } from '@portcullis/resource-server';
import type { AccessRule, GatewayServer } from './server.ts';

/** A resource definition of the authorization server. */
export interface ServerResource {
  readonly resource: string;
  readonly name: string;
  readonly scopes: Readonly<Record<string, string>>;
  /** What rules name about users. */
  readonly claims: readonly UserClaim[];
  /** The guard asks the authorization server itself, so that a revocation takes effect at once. */
  readonly revocationDelay: 0;
}

export function resourcesOf(servers: readonly GatewayServer[]): readonly ServerResource[] {
  return servers.map((server) => ({
    resource: server.resource,
    name: server.name,
    scopes: scopesOf(server, servers),
    claims: claimsOf(server),
    revocationDelay: 0,
  }));
}

/** Claims about the user that access tokens have to contain, because rules depend on them. */
function claimsOf({ rules }: GatewayServer): readonly UserClaim[] {
  const named = Object.values(rules)
    .flatMap((table) => Object.values<AccessRule>(table ?? {}))
    .flatMap((rule) => {
      if (rule === false || !('groups' in rule || 'claims' in rule)) return [];
      return [...(rule.groups === undefined ? [] : ['groups']), ...Object.keys(rule.claims ?? {})];
    });
  return USER_CLAIMS.filter((claim) => named.includes(claim));
}

type UserClaim = 'email' | 'name' | 'groups';

const USER_CLAIMS: readonly UserClaim[] = ['email', 'name', 'groups'];

/** The same resources for the guard. */
export function guardResourcesOf(servers: readonly GatewayServer[]): readonly ResourceOptions[] {
  return resourcesOf(servers).map(({ resource, name, scopes }) => ({
    resource,
    name,
    defaultScopes: Object.keys(scopes),
  }));
}

/** The scopes of a server: configured, proposed, or those of its parts. */
function scopesOf(server: GatewayServer, all: readonly GatewayServer[]): Readonly<Record<string, string>> {
  if (Object.keys(server.scopes).length > 0) return server.scopes;
  if (server.merges === null) return proposedScopes(server);
  const parts = Object.values(server.merges).flatMap((path) => all.filter((one) => one.path === path));
  return Object.assign({}, ...parts.map((part) => scopesOf(part, all)));
}

/** Without rules, reading and everything else are two scopes. */
function proposedScopes({ id, name }: Pick<GatewayServer, 'id' | 'name'>): Readonly<Record<string, string>> {
  return {
    [`${id}:read`]: `Read with the tools of ${name}`,
    [`${id}:write`]: `Make changes with the tools of ${name}`,
  };
}
