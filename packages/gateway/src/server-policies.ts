/** The policies of configured servers: for a server that serves, and for programs that explain decisions beside it. */
import type { CompileCondition } from '@portcullis/policy';
import type { McpOperation } from '@portcullis/protocol';
import { compilePolicy, type Policy } from './policy/compile-policy.ts';
import { splitTarget, withTarget } from './servers/merged-names.ts';
import { resourcesOf } from './servers/resources.ts';
import type { GatewayServer } from './servers/server.ts';

/** @param compile `null`: no rule has a condition */
export function policyOfServer(
  server: GatewayServer,
  servers: readonly GatewayServer[],
  compile: CompileCondition | null,
): Policy {
  const resource = resourcesOf(servers).find((one) => one.resource === server.resource);
  const index = servers.findIndex((one) => one.resource === server.resource);
  const offered = Object.keys(resource?.scopes ?? {});
  return compilePolicy({ ...server, index }, { offered, limits: resource?.grantableTo ?? {}, compile });
}

/** The policy that decides about an operation, and the operation as that policy names it. */
export interface DecidingPolicy {
  /** Of a merged server, its member. */
  readonly server: GatewayServer;
  readonly operation: McpOperation;
  readonly policy: Policy;
}

/**
 * Finds policies without serving; the rules of each server are compiled once.
 * @param compile `null`: no rule has a condition
 * @returns `null` at a merged server for a name without a member, and for a method that concerns several
 */
export function createDecidingPolicies(
  servers: readonly GatewayServer[],
  compile: CompileCondition | null,
): (server: GatewayServer, operation: McpOperation) => DecidingPolicy | null {
  const policies = new Map<GatewayServer, Policy>();

  function policyOf(server: GatewayServer): Policy {
    const policy = policies.get(server) ?? policyOfServer(server, servers, compile);
    policies.set(server, policy);
    return policy;
  }

  return function find(server, operation) {
    if (server.merges === null) return { server, operation, policy: policyOf(server) };
    const found = splitTarget(operation);
    const path = found && Object.hasOwn(server.merges, found.prefix) ? server.merges[found.prefix] : null;
    const member = servers.find((one) => one.path === path);
    if (found === null || member === undefined) return null;
    return find(member, withTarget(operation, found.name));
  };
}
