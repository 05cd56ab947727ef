/** Calls that their rules allow once they are approved: finds or requests the approvals, which serve one call. */
import type { ApprovedUse, CallApprovals } from '@portcullis/authorization-server';
import type { Explanation } from '@portcullis/policy';
import type { PinBoard } from '../catalogue/pins.ts';
import { tooManyCalls } from '../http/error-response.ts';
import { failedCall, MessageError } from '../messages/message-error.ts';
import { UserActionRequired } from '../messages/user-action.ts';
import { forbidden, type UnapprovedCall } from '../policy/check-messages.ts';
import { type GatewayRequest, namedHeaders } from '../servers/request.ts';
import type { GatewayServer } from '../servers/server.ts';
import { type CallBody, readBoundCall } from './bound-call.ts';

/** The call waits for a decision. */
export class ApprovalRequired extends UserActionRequired {
  override readonly name = 'ApprovalRequired';
  readonly because: Explanation;

  constructor(message: string, url: string, isUnderWay: boolean, because: Explanation) {
    super(message, url, isUnderWay);
    this.because = because;
  }
}

export interface ApprovalGate {
  /**
   * Finds the approvals of a call, or requests them.
   * @throws ApprovalRequired while one is pending, MessageError if one was denied or the call cannot be approved, GatewayError 429 when
   * too many are pending
   */
  find(
    sender: Pick<GatewayRequest, 'principal' | 'incoming'>,
    call: UnapprovedCall,
    body: CallBody,
  ): Promise<ApprovedUse>;
}

/** @param pins the approved definitions of the tools; `null`: there are none */
export function createApprovalGate(approvals: CallApprovals, pins: PinBoard | null): ApprovalGate {
  return {
    async find({ principal, incoming }, call, body) {
      const { server, message, because } = call;
      const { issuer, subject, clientId, grantId } = principal;
      const tool = message.tool ?? '';
      const { backend } = server;
      const forward = backend === null || backend.kind === 'stdio' ? [] : backend.forward;
      const bound = readBoundCall(message, body, namedHeaders(incoming.headers, forward));
      const decision = await approvals.request({
        ...{ issuer, subject, clientId, grantId, tool, needed: call.approvals },
        ...{ server: server.path, backend: server.pinnedBackend },
        arguments: bound.arguments,
        argumentsHash: bound.hash,
        definition: await findDefinition(pins, server, tool),
      });
      switch (decision.kind) {
        case 'approved':
          return decision.use;
        case 'pending': {
          const { url, isUnderWay } = decision;
          const text = `${tool} at ${server.name} needs an approval for this call. Open ${url} to see who decides, or to decide it, then try again.`;
          throw new ApprovalRequired(text, url, isUnderWay, because);
        }
        case 'denied':
          throw denied(call, decision.reason);
        case 'impossible':
          throw forbidden(message, 'denied', { ...because, reason: decision.reason });
        case 'busy':
          throw tooManyCalls(`Too many calls at ${server.name} wait for approval.`, decision.retryAfter);
      }
    },
  };
}

/** Without the approvals of an authorization server, no call is ever approved. */
export const noApprovals: ApprovalGate = {
  async find(_sender, { message, because }) {
    throw forbidden(message, 'denied', because);
  },
};

/** Another definition needs another approval: its approver reads what the tool does. */
async function findDefinition(
  pins: PinBoard | null,
  server: GatewayServer,
  tool: string,
): Promise<string | null> {
  if (pins === null || server.review === 'auto') return null;
  return (await pins.current(server)).definitionOf(tool);
}

/** A result that the model reads. */
function denied({ message, because }: UnapprovedCall, reason: string | null): MessageError {
  const why = reason === null ? 'No reason was given.' : `The reason given: ${reason}`;
  const text = `This call of ${message.tool} was not approved, and did not run. ${why}`;
  return new MessageError('forbidden', text, {
    status: 200,
    id: message.id,
    decision: 'approval_denied',
    result: failedCall(message, text),
    because: {
      ...because,
      reason: reason === null ? 'an approver denied it' : `an approver denied it: ${reason}`,
    },
  });
}
