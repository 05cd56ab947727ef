/** What a server allows: its rules and its reviewed tools decide about calls, and filter its lists. */
import { isMembers, type JsonFields } from '@portcullis/http';
import {
  type CompileCondition,
  NO_ARGUMENTS,
  type PolicyDecision,
  type ToolAnnotations,
} from '@portcullis/policy';
import type { McpOperation } from '@portcullis/protocol';
import type { ExternalPolicy } from './authzen/external-policy.ts';
import type { Catalogue, ReviewedList, ToolCatalogue } from './catalogue/catalogue.ts';
import { hintsOf, readToolDefinition } from './catalogue/tool-definition.ts';
import type { BackendCredential } from './credentials/credential-source.ts';
import { mapLater } from './map-later.ts';
import type { ScannedBody } from './messages/scanned-message.ts';
import {
  accessRequest,
  checkForbidden,
  checkMessages,
  type DecidedBody,
  forbidden,
  LISTED,
  readsArguments,
  type Sender,
  type UnapprovedCall,
  unknownTool,
} from './policy/check-messages.ts';
import type { Policy } from './policy/compile-policy.ts';
import { filterLists, withPrivateScope } from './policy/list-results.ts';
import { reportedOperation } from './policy/streams.ts';
import { policyOfServer } from './server-policies.ts';
import type { OwnedRequest } from './servers/request.ts';
import type { GatewayServer } from './servers/server.ts';
import { describeTools, mayBecomeCallable } from './tool-challenges/security-schemes.ts';

export type ServerControl = ReturnType<typeof createServerControl>;

/** What the rules of all servers share. */
export interface ControlServices {
  /** `null`: no rule has a condition. */
  readonly compile: CompileCondition | null;
  /** `null`: the rules decide alone. */
  readonly external: ExternalPolicy | null;
}

/** @param catalogue `null`: tools are neither reviewed nor compared with what the backend lists */
export function createServerControl(
  server: GatewayServer,
  servers: readonly GatewayServer[],
  catalogue: Catalogue | null,
  { compile, external }: ControlServices,
) {
  const control = createOperationControl(policyOfServer(server, servers, compile), catalogue, external);
  return {
    ...control,
    /** Filters the lists in a response, which only its user may cache. */
    editResponse<T>(message: T, request: OwnedRequest, credential: BackendCredential): T | Promise<T> {
      if (!isMembers(message) || !isMembers(message['result'])) return message;
      const result: JsonFields = message['result'];
      const offered = server.backend?.kind === 'stdio' ? result : withoutTaskLists(result);
      const filtered = control.filter(withPrivateScope(offered), request, credential.key);
      return mapLater(filtered, (after) => withResult(message, result, after));
    },
  };
}

/** What `initialize` offers, without `tasks/list`, which no backend over HTTP is asked for. */
function withoutTaskLists(result: JsonFields): JsonFields {
  const { protocolVersion, capabilities } = result;
  const tasks = isMembers(capabilities) ? capabilities['tasks'] : undefined;
  if (protocolVersion === undefined || !isMembers(tasks) || !('list' in tasks)) return result;
  const { list: _, ...offered } = tasks;
  return { ...result, capabilities: { ...Object(capabilities), tasks: offered } };
}

function withResult<T>(message: T, before: unknown, after: unknown): T {
  return after === before ? message : { ...message, result: after };
}

/** @param catalogue `null`: tools are not compared with what the backend lists, such as where there is no backend */
export function createOperationControl(
  policy: Policy,
  catalogue: Catalogue | null,
  external: ExternalPolicy | null = null,
) {
  function filterBy(result: unknown, request: OwnedRequest, reviewed: ReviewedList | null) {
    const filtered = filterLists(result, (operation, element) => {
      if (operation.tool === null) return isListed(policy, operation, null, request);
      const definition = readToolDefinition(element);
      if (definition === null || reviewed?.has(definition.name) === false) return false;
      return isListed(policy, operation, hintsOf(definition), request);
    });
    // Written again: clients read a repeated member differently, and pins cover one reading.
    const written = filtered === result && reviewed !== null ? { ...(result as object) } : filtered;
    return request.server.toolChallenges.length === 0 ? written : describeRules(written, policy);
  }

  /** What the rules refuse is not asked elsewhere; what needs an approval is, before a user is. */
  async function decideWith(
    { check }: ExternalPolicy,
    request: OwnedRequest,
    body: DecidedBody,
    tools: ToolCatalogue | null | Promise<ToolCatalogue>,
  ): Promise<UnapprovedCall | null> {
    const known = await tools;
    const unapproved = decideBy(policy, request, body, known);
    await check(body, request, (tool) => known?.get(tool)?.hints ?? null);
    return unapproved;
  }

  return {
    /**
     * Refuses what no scope and no tool of the backend could allow, without asking the backend.
     * @throws MessageError 403, PolicyError for a token that is missing
     */
    checkRules: (sender: Sender, body: ScannedBody): void => checkForbidden(policy, body, sender),
    /** Whether the whole body is needed to decide. */
    readsArguments: (body: ScannedBody): boolean =>
      external?.readsArguments === true || readsArguments(policy, body),
    /**
     * Decides whether all messages of a body may pass; without waiting when the tools are known.
     * @returns the call that has to be approved; `null`: all may pass
     * @throws MessageError 403, PolicyError, BackendError
     */
    decide(
      request: OwnedRequest,
      body: DecidedBody,
      credential: BackendCredential,
    ): UnapprovedCall | null | Promise<UnapprovedCall | null> {
      const isCall = catalogue !== null && body.messages.some(({ tool }) => tool !== null);
      const tools = isCall ? catalogue.tools(request, credential.key) : null;
      if (external !== null) return decideWith(external, request, body, tools);
      return mapLater(tools, (known) => decideBy(policy, request, body, known));
    },
    /** The decision about a message that names nothing, such as the request for a list or a stream. */
    decideMethod(method: string, request: OwnedRequest): PolicyDecision['kind'] {
      const operation = { method, tool: null, prompt: null, resource: null };
      return policy.decide(accessRequest(operation, request, null, NO_ARGUMENTS)).kind;
    },
    /** Whether a message of the backend may be sent to a caller: not the change of a resource that the rules hide, as lists do. */
    mayReport(message: unknown, request: OwnedRequest): boolean {
      const reported = reportedOperation(message);
      return reported === null || isListed(policy, reported, null, request);
    },
    /**
     * Removes from the lists in a result what the user could not call, and definitions that are not approved.
     * @throws BackendError
     */
    filter(result: unknown, request: OwnedRequest, credentialKey: string): unknown {
      const listed: unknown = Object(result).tools;
      const hasTools = catalogue !== null && Array.isArray(listed);
      const reviewed = hasTools ? catalogue.review(request, credentialKey, listed) : null;
      if (external !== null)
        return Promise.resolve(reviewed).then((known) =>
          external.filter(filterBy(result, request, known), request),
        );
      return mapLater(reviewed, (known) => filterBy(result, request, known));
    },
  };
}

function decideBy(
  policy: Policy,
  request: OwnedRequest,
  body: DecidedBody,
  tools: ToolCatalogue | null,
): UnapprovedCall | null {
  // Without review, the backend itself answers calls of tools that it does not have.
  if (tools !== null && request.server.review !== 'auto') checkApproved(body, tools);
  const unapproved = checkMessages(policy, body, request, (tool) => tools?.get(tool)?.hints ?? null);
  return unapproved === null ? null : { ...unapproved, server: request.server };
}

function isListed(
  policy: Policy,
  operation: McpOperation,
  hints: ToolAnnotations | null,
  request: OwnedRequest,
): boolean {
  const { kind } = policy.decide(accessRequest(operation, request, hints, 'later'));
  if (LISTED.has(kind)) return true;
  // Clients that begin a sign-in from the result of a call have to know the tool before they have a token or scope for it.
  const begins = operation.tool !== null && request.server.toolChallenges.length > 0;
  return begins && kind !== 'deny' && mayBecomeCallable(policy.rulesFor(operation, hints));
}

/** @throws MessageError for a call of a tool that is not approved, or that the backend does not have */
function checkApproved({ messages, isBatch }: DecidedBody, tools: ToolCatalogue): void {
  const unknown = messages.find(({ tool }) => tool !== null && tools.get(tool)?.state !== 'approved');
  if (unknown === undefined) return;
  if (tools.has(unknown.tool ?? '')) throw forbidden(unknown, 'unapproved');
  throw isBatch ? forbidden(unknown, 'invalid') : unknownTool(unknown);
}

/** Describes in a list of tools what each needs. */
function describeRules(result: unknown, policy: Policy): unknown {
  return describeTools(result, (tool) => {
    const definition = readToolDefinition(tool);
    if (definition === null) return [];
    const call = { method: 'tools/call', tool: definition.name, prompt: null, resource: null };
    return policy.rulesFor(call, hintsOf(definition));
  });
}
