/** The operation that a command asks about, and the policy that decides about it. */
import { createDecidingPolicies, type DecidingPolicy, hasConditions } from '@portcullis/gateway/options';
import { type AccessPrincipal, loadConditions, type ToolAnnotations } from '@portcullis/policy';
import type { McpOperation } from '@portcullis/protocol';
import { cleanLine } from '../../terminal/clean.ts';
import { type ConfiguredServers, serverAt } from '../configured-servers.ts';
import type { ExplainedDecision } from './decision-text.ts';

/** An operation, named as at its server. */
export interface NamedOperation {
  /** Path of the server. */
  readonly server: string;
  readonly tool?: string | undefined;
  readonly prompt?: string | undefined;
  readonly resource?: string | undefined;
  readonly method?: string | undefined;
}

/** The methods that perform an operation on each kind of target. */
const METHODS = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const;

/** @throws Error unless exactly one target is named */
function operationOf({ tool, prompt, resource, method }: NamedOperation): McpOperation {
  const named = Object.entries({ tool, prompt, resource, method }).filter(([, name]) => name !== undefined);
  const [kind = ''] = named[0] ?? [];
  if (named.length !== 1) throw new Error('Name one of tool, prompt, resource and method');
  return {
    method: method ?? METHODS[kind as keyof typeof METHODS],
    tool: tool ?? null,
    prompt: prompt ?? null,
    resource: resource ?? null,
  };
}

export function operationText({ method, tool, prompt, resource }: McpOperation): string {
  const name = tool ?? prompt ?? resource;
  return cleanLine(name === null ? method : `${method} ${name}`);
}

/** Compiles the rules of each server once for all operations of a command. */
export async function createPolicyFinder({ servers }: Pick<ConfiguredServers, 'servers'>) {
  const findPolicy = createDecidingPolicies(servers, hasConditions(servers) ? await loadConditions() : null);
  /** @throws Error for a server or a member that does not exist */
  return (named: NamedOperation): DecidingPolicy => {
    const server = serverAt(servers, named.server);
    const found = findPolicy(server, operationOf(named));
    if (found !== null) return found;
    const prefixes = Object.keys(server.merges ?? {}).join(', ');
    throw new Error(`At ${server.path}, a name begins with that of one of its members: ${prefixes}`);
  };
}

export type FindPolicy = Awaited<ReturnType<typeof createPolicyFinder>>;

/** The token has no claims of a sign-in; conditions on arguments stay open. */
export function explainWithoutArguments(
  { server, operation, policy }: DecidingPolicy,
  principal: AccessPrincipal | null,
  annotations: ToolAnnotations | null,
  now: number,
): ExplainedDecision {
  return policy.explain({
    principal,
    operation,
    server: server.path,
    annotations,
    arguments: 'later',
    now,
    network: '',
  });
}
