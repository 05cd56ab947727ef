/** Asks the external decision point about what the rules allow: calls before they are sent, and the entries of lists. */
import { type AccessRequest, type Evaluation, evaluationOf, type ToolAnnotations } from '@portcullis/policy';
import { hintsOf as hintsOfDefinition, readToolDefinition } from '../catalogue/tool-definition.ts';
import type { ScannedMessage } from '../messages/scanned-message.ts';
import {
  accessRequest,
  accessRequestsOf,
  type DecidedBody,
  forbidden,
  type Sender,
} from '../policy/check-messages.ts';
import { filterLists } from '../policy/list-results.ts';
import { readingsOf } from '../policy/resource-uris.ts';
import type { DecisionPoint } from './decision-point.ts';

export type ExternalPolicy = ReturnType<typeof createExternalPolicy>;

/** A second decision about what the rules of a server allow. */
export function createExternalPolicy(point: DecisionPoint) {
  const { options } = point;

  /** @throws MessageError for arguments that the decision point and the backend might read differently */
  function evaluate(message: ScannedMessage, request: AccessRequest): Evaluation {
    try {
      return evaluationOf(request, options);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const because = { rule: 'policy.authzen.arguments', reason: error.message };
      throw forbidden(message, 'denied', because);
    }
  }

  return {
    /** Whether it is sent the arguments of calls. */
    readsArguments: options.arguments,
    /**
     * @param hintsOf hints of a tool; `null` when it is unknown
     * @throws MessageError 403, OAuthError 503
     */
    async check(
      body: DecidedBody,
      sender: Sender,
      hintsOf: (tool: string) => ToolAnnotations | null,
    ): Promise<void> {
      // Methods without a target open a session or list: lists are filtered.
      const asked = accessRequestsOf(body, sender, hintsOf)
        .filter(({ request }) => hasTarget(request))
        .flatMap(({ message, request }) => readingsOf(request).map((one) => ({ message, request: one })));
      const evaluations = asked.map(({ message, request }) => evaluate(message, request));
      const decisions = await point.evaluate(evaluations);
      for (const [index, { message }] of asked.entries()) {
        const decision = decisions[index];
        if (decision?.kind === 'allow') continue;
        throw forbidden(message, 'denied', decision?.kind === 'deny' ? decision.because : null);
      }
    },
    /** Removes what is refused from the lists in a result. @throws OAuthError 503 */
    async filter(result: unknown, sender: Sender): Promise<unknown> {
      const requests: AccessRequest[] = [];
      filterLists(result, (operation, element) => {
        const definition = operation.tool === null ? null : readToolDefinition(element);
        const hints = definition === null ? null : hintsOfDefinition(definition);
        requests.push(accessRequest(operation, sender, hints, 'later'));
        return true;
      });
      const decided = await point.evaluate(requests.map((request) => evaluationOf(request, options)));
      const decisions = decided.values();
      return filterLists(result, () => decisions.next().value?.kind === 'allow');
    },
  };
}

function hasTarget({ operation: { tool, prompt, resource } }: AccessRequest): boolean {
  return (tool ?? prompt ?? resource) !== null;
}
