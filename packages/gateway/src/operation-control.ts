/** What users may do at a server: decides about calls, and filters lists, by the same rules and approved definitions. */
import type { BackendCredential } from './credentials/credential-source.ts';
import type { ScannedBody } from './messages/scanned-message.ts';
import { filterLists } from './policy/list-results.ts';
import { checkForbidden, checkMessages, forbidden, type Policy, unknownTool } from './policy/policy.ts';
import type { Catalogue, ToolCatalogue } from './review/catalogue.ts';
import { hashOf, hintsOf, pinnedText, readToolDefinition } from './review/tool-definition.ts';
import type { OwnedRequest } from './servers/request.ts';

export interface OperationControl {
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
  function decideBy({ principal }: OwnedRequest, body: ScannedBody, tools: ToolCatalogue | null): void {
    if (tools !== null) {
      const unknown = body.messages.find(
        ({ tool }) => tool !== null && tools.get(tool)?.state !== 'approved',
      );
      if (unknown !== undefined && tools.has(unknown.tool ?? '')) throw forbidden(unknown, 'unapproved');
      if (unknown !== undefined) throw body.isBatch ? forbidden(unknown, 'invalid') : unknownTool(unknown);
    }
    checkMessages(policy, body, principal, (tool) => tools?.get(tool)?.hints ?? null);
  }

  function filterBy(result: unknown, { principal, server }: OwnedRequest, tools: ToolCatalogue | null) {
    let isOutdated = false;
    const filtered = filterLists(result, (operation, element) => {
      if (operation.tool === null) return policy.decide(operation, principal, null).kind === 'allow';
      const definition = readToolDefinition(element);
      if (definition === null) return false;
      if (tools !== null) {
        const known = tools.get(definition.name);
        if (known?.hash !== hashOf(pinnedText(definition))) {
          isOutdated = true;
          return false;
        }
        if (known.state !== 'approved') return false;
      }
      return policy.decide(operation, principal, hintsOf(definition)).kind === 'allow';
    });
    if (isOutdated) catalogue?.changed(server);
    return filtered;
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
      const hasTools = catalogue !== null && Array.isArray(Object(result).tools);
      const tools = hasTools ? catalogue.tools(request, credentialKey) : null;
      if (tools instanceof Promise) return tools.then((later) => filterBy(result, request, later));
      return filterBy(result, request, tools);
    },
  };
}
