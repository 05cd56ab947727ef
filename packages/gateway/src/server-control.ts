/** What a server allows: its rules and its reviewed tools decide about calls, and filter its lists. */
import { isMembers } from '@portcullis/http';
import { OAuthError, type Scopes, unionScopes } from '@portcullis/protocol';
import type { Catalogue, ReviewedList, ToolCatalogue } from './catalogue/catalogue.ts';
import { hintsOf, readToolDefinition } from './catalogue/tool-definition.ts';
import type { BackendCredential } from './credentials/credential-source.ts';
import { MessageError, type RefusalDecision } from './messages/message-error.ts';
import type { ScannedBody, ScannedMessage } from './messages/scanned-message.ts';
import { type Caller, compilePolicy, type Policy, type ToolHints } from './policy/compile-policy.ts';
import { filterLists } from './policy/list-results.ts';
import type { GatewayRequest, OwnedRequest } from './servers/request.ts';
import { resourcesOf } from './servers/resources.ts';
import type { GatewayServer } from './servers/server.ts';

export interface ServerControl extends OperationControl {
  /** Filters the lists in a response. */
  editResponse(message: unknown, request: GatewayRequest, credential: BackendCredential): unknown;
}

/** @param catalogue `null`: tools are neither reviewed nor compared with what the backend lists */
export function createServerControl(
  server: GatewayServer,
  servers: readonly GatewayServer[],
  catalogue: Catalogue | null,
): ServerControl {
  const resource = resourcesOf(servers).find((one) => one.resource === server.resource);
  const policy = compilePolicy(server, Object.keys(resource?.scopes ?? {}), resource?.grantableTo);
  const control = createOperationControl(policy, catalogue);
  return {
    ...control,
    editResponse: (message: unknown, request: GatewayRequest, credential: BackendCredential) => {
      if (!isMembers(message) || !isMembers(message['result'])) return message;
      const { result } = message;
      const filtered = control.filter(result, request, credential.key);
      if (filtered instanceof Promise) return filtered.then((later) => withResult(message, result, later));
      return withResult(message, result, filtered);
    },
  };
}

function withResult(message: object, before: unknown, after: unknown): unknown {
  return after === before ? message : { ...message, result: after };
}

interface OperationControl {
  /**
   * Refuses what no scope and no tool of the backend could allow, without asking the backend.
   * @throws MessageError 403
   */
  checkRules(request: Pick<OwnedRequest, 'principal'>, body: ScannedBody): void;
  /**
   * Decides whether all messages of a body may pass; without waiting when the tools are known.
   * @throws MessageError 403, OAuthError `insufficient_scope`, BackendError
   */
  decide(request: OwnedRequest, body: ScannedBody, credential: BackendCredential): void | Promise<void>;
  /**
   * Removes from the lists in a result what the user could not call, and definitions that are not approved.
   * @throws BackendError
   */
  filter(result: unknown, request: OwnedRequest, credentialKey: string): unknown | Promise<unknown>;
}

/** @param catalogue `null`: tools are not compared with what the backend lists, such as where there is no backend */
export function createOperationControl(policy: Policy, catalogue: Catalogue | null): OperationControl {
  function decideBy(
    { principal, server }: OwnedRequest,
    body: ScannedBody,
    tools: ToolCatalogue | null,
  ): void {
    // Without review, the backend itself answers calls of tools that it does not have.
    if (tools !== null && server.review !== 'auto') {
      const unknown = body.messages.find(
        ({ tool }) => tool !== null && tools.get(tool)?.state !== 'approved',
      );
      if (unknown !== undefined && tools.has(unknown.tool ?? '')) throw forbidden(unknown, 'unapproved');
      if (unknown !== undefined) throw body.isBatch ? forbidden(unknown, 'invalid') : unknownTool(unknown);
    }
    checkMessages(policy, body, principal, (tool) => tools?.get(tool)?.hints ?? null);
  }

  function filterBy(result: unknown, { principal }: OwnedRequest, reviewed: ReviewedList | null) {
    const filtered = filterLists(result, (operation, element) => {
      if (operation.tool === null) return policy.decide(operation, principal, null).kind === 'allow';
      const definition = readToolDefinition(element);
      if (definition === null || reviewed?.has(definition.name) === false) return false;
      return policy.decide(operation, principal, hintsOf(definition)).kind === 'allow';
    });
    // Written again: clients read a repeated member differently, and pins cover one reading.
    return filtered === result && reviewed !== null ? { ...(result as object) } : filtered;
  }

  return {
    checkRules: ({ principal }, body) => checkForbidden(policy, body, principal),
    decide(request, body, credential) {
      const isCall = catalogue !== null && body.messages.some(({ tool }) => tool !== null);
      const tools = isCall ? catalogue.tools(request, credential.key) : null;
      if (tools instanceof Promise) return tools.then((later) => decideBy(request, body, later));
      return decideBy(request, body, tools);
    },
    filter(result, request, credentialKey) {
      const listed: unknown = Object(result).tools;
      const hasTools = catalogue !== null && Array.isArray(listed);
      const reviewed = hasTools ? catalogue.review(request, credentialKey, listed) : null;
      if (reviewed instanceof Promise) return reviewed.then((later) => filterBy(result, request, later));
      return filterBy(result, request, reviewed);
    },
  };
}

/** Of the implementation: the operation is not allowed, with whatever scopes. */
const FORBIDDEN = -32_003;

/**
 * A body with one forbidden operation is refused whole; one challenge names the scopes of all.
 * @param hintsOf hints of a tool; `null` when it is unknown
 * @throws MessageError 403, OAuthError `insufficient_scope`
 */
export function checkMessages(
  policy: Policy,
  { messages }: ScannedBody,
  caller: Caller,
  hintsOf: (tool: string) => ToolHints | null,
): void {
  let needed: Scopes | null = null;
  for (const message of messages) {
    if (message.kind === 'response') continue;
    const hints = message.tool === null ? null : hintsOf(message.tool);
    for (const operation of operationsOf(message)) {
      const decision = policy.decide(operation, caller, hints);
      if (decision.kind === 'deny') throw forbidden(message);
      if (decision.kind === 'insufficient_scope') needed = unionScopes(needed ?? [], decision.needed);
    }
  }
  if (needed === null) return;
  throw new OAuthError('insufficient_scope', 'The access token lacks scopes that this operation requires.', {
    scopes: needed,
    reason: 'scopes are missing',
  });
}

/** Hints that lead to different scopes where there is no rule. */
const POSSIBLE_HINTS: readonly (ToolHints | null)[] = [null, { readOnly: true, destructive: false }];

/**
 * Refuses a body with an operation that is not allowed whatever the backend says about its tools, so that the backend need not be
 * asked.
 * @throws MessageError 403
 */
function checkForbidden(policy: Policy, { messages }: ScannedBody, caller: Caller): void {
  for (const message of messages) {
    if (message.kind === 'response') continue;
    const isForbidden = operationsOf(message).some((operation) =>
      POSSIBLE_HINTS.every((hints) => policy.decide(operation, caller, hints).kind === 'deny'),
    );
    if (isForbidden) throw forbidden(message);
  }
}

/** A subscription to several resources is as many operations. */
function operationsOf(message: ScannedMessage): readonly ScannedMessage[] {
  if (message.subscriptions.length === 0) return [message];
  return message.subscriptions.map((resource) => ({ ...message, resource }));
}

/** The error for an operation that is not available to this user and client. */
export function forbidden(
  { tool, prompt, resource, method, id }: ScannedMessage,
  decision: RefusalDecision = 'denied',
): MessageError {
  const what =
    [tool === null ? null : 'tool', prompt && 'prompt', resource && 'resource'].find((one) => one) ??
    'method';
  const name = tool ?? prompt ?? resource ?? method;
  return new MessageError(FORBIDDEN, `The ${what} ${JSON.stringify(name)} is not available to you here.`, {
    status: 403,
    id,
    decision,
  });
}

const INVALID_PARAMS = -32_602;

/**
 * The error that servers of MCP respond with: in sessions a result with `isError`, as the official SDKs do; in the stateless revision a
 * JSON-RPC error. @see MCP 2026-07-28, server/tools, error handling
 */
export function unknownTool({ tool, id, protocolVersion }: ScannedMessage): MessageError {
  const isToolResult = protocolVersion === null;
  return new MessageError(INVALID_PARAMS, `Unknown tool: ${tool}`, { status: 200, id, isToolResult });
}
