/** An operation by name, and the policy that decides about it. */
import {
  createDecidingPolicies,
  type DecidingPolicy,
  type GatewayServer,
  hasConditions,
} from '@portcullis/gateway/options';
import {
  type AccessPrincipal,
  type explainAccess,
  loadConditions,
  type PolicyDecision,
  type ToolAnnotations,
} from '@portcullis/policy';
import type { McpOperation } from '@portcullis/protocol';
import * as z from 'zod';
import { OperationError } from '../errors.ts';

export const optionalName = (about: string) => z.string().max(2000).optional().describe(about);

export const namedOperation = {
  server: z.string().max(500).describe('path of a server'),
  tool: optionalName('name of a tool; one of tool, prompt, resource and method'),
  prompt: optionalName('name of a prompt'),
  resource: optionalName('URI of a resource'),
  method: optionalName('a method such as `tools/list`'),
};

/** An operation, named as at its server. */
export type NamedOperation = Readonly<z.infer<z.ZodObject<typeof namedOperation>>>;

/** The methods that perform an operation on each kind of target. */
const METHODS = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const;

/** @throws OperationError unless exactly one target is named */
function operationOf({ tool, prompt, resource, method }: NamedOperation): McpOperation {
  const named = Object.entries({ tool, prompt, resource, method }).filter(([, name]) => name !== undefined);
  const [kind = ''] = named[0] ?? [];
  if (named.length !== 1)
    throw new OperationError('invalid', 'Name one of tool, prompt, resource and method');
  return {
    method: method ?? METHODS[kind as keyof typeof METHODS],
    tool: tool ?? null,
    prompt: prompt ?? null,
    resource: resource ?? null,
  };
}

/** Names an operation: `tools/call delete_file`. */
export function operationText({ method, tool, prompt, resource }: McpOperation): string {
  const name = tool ?? prompt ?? resource;
  return name === null ? method : `${method} ${name}`;
}

/** @throws OperationError that names the servers, if there is none at the path */
export function findServerAt(servers: readonly GatewayServer[], path: string): GatewayServer {
  const found = servers.find((server) => server.path === path);
  if (found !== undefined) return found;
  const known = servers.map((server) => server.path).join(', ');
  throw new OperationError('not_found', `there is no server at ${path}; there are ${known}`);
}

/** Compiles the rules of each server once for several operations. */
export async function createPolicyFinder({ servers }: { readonly servers: readonly GatewayServer[] }) {
  const findPolicy = createDecidingPolicies(servers, hasConditions(servers) ? await loadConditions() : null);
  /** @throws OperationError for a server or a member that does not exist */
  return (named: NamedOperation): DecidingPolicy => {
    const server = findServerAt(servers, named.server);
    const found = findPolicy(server, operationOf(named));
    if (found !== null) return found;
    const prefixes = Object.keys(server.merges ?? {}).join(', ');
    throw new OperationError(
      'invalid',
      `At ${server.path}, a name begins with that of one of its members: ${prefixes}`,
    );
  };
}

/** Finds the policy that decides about an operation. */
export type FindPolicy = Awaited<ReturnType<typeof createPolicyFinder>>;

/** A decision, and what was considered. */
export type ExplainedDecision = ReturnType<typeof explainAccess>;

/**
 * On first use, every definition is approved; once the gateway knows the tools of a server, a tool without one is hidden and refused,
 * unless the rules refuse it finally before. @param approved tools with an approved definition
 */
export function decideByReview(
  decision: PolicyDecision,
  { server, operation: { tool } }: DecidingPolicy,
  approved: ReadonlyMap<string, unknown>,
  servers: readonly GatewayServer[],
): PolicyDecision {
  const isUnknown = tool !== null && approved.size > 0 && !approved.has(tool);
  if (server.review !== 'first-use' || !isUnknown || ['deny', 'challenge'].includes(decision.kind))
    return decision;
  const rule = `servers[${servers.findIndex(({ path }) => path === server.path)}].review`;
  return { kind: 'deny', because: { rule, reason: 'no definition of this tool is approved' } };
}

/** @param given arguments of the call; `later`: conditions on them stay open @param now epoch seconds */
export function explainOperation(
  { server, operation, policy }: DecidingPolicy,
  principal: AccessPrincipal | null,
  annotations: ToolAnnotations | null,
  now: number,
  given: Parameters<DecidingPolicy['policy']['explain']>[0]['arguments'] = 'later',
  network = '',
): ExplainedDecision {
  const about = { principal, operation, annotations, arguments: given };
  return policy.explain({ ...about, server: server.path, now, network });
}

/** What remains to be done or met; `null`: refused. */
export function outcomeText({ decision, considered }: ExplainedDecision): string | null {
  const open = considered.filter(({ outcome }) => outcome === 'open');
  const rest = open.length === 0 ? '' : `if the arguments meet ${open.map(({ rule }) => rule).join(' and ')}`;
  switch (decision.kind) {
    case 'allow':
      return rest === '' ? 'allowed' : rest;
    case 'step_up':
      return ['after the sign-in that', decision.because.rule, 'demands', rest].join(' ').trim();
    case 'approval':
      return ['with an approval', rest].join(' ').trim();
    default:
      return null;
  }
}
