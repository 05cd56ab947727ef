/** What a server allows: its rules and its reviewed tools decide about calls, and filter its lists. */
import { isMembers } from '@portcullis/http';
import type { BackendCredential } from './credentials/credential-source.ts';
import type { ScannedBody } from './messages/scanned-message.ts';
import { compilePolicy } from './policy/compile-policy.ts';
import { filterLists } from './policy/list-results.ts';
import { checkForbidden, checkMessages, forbidden, type Policy, unknownTool } from './policy/policy.ts';
import type { Catalogue, ReviewedList, ToolCatalogue } from './review/catalogue.ts';
import { hintsOf, readToolDefinition } from './review/tool-definition.ts';
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
