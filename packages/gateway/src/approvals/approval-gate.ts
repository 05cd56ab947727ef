/** Calls that their rules allow once they are approved: finds or requests the approvals, which serve one call. */
import { hash } from 'node:crypto';
import type { ApprovedUse, CallApprovals } from '@portcullis/authorization-server';
import { createCallArguments, type Explanation } from '@portcullis/policy';
import type { DefinitionPinStore } from '@portcullis/protocol';
import { tooManyCalls } from '../http/error-response.ts';
import { MAX_APPROVAL_ARGUMENTS } from '../limits.ts';
import { MessageError } from '../messages/message-error.ts';
import { UserActionRequired } from '../messages/user-action.ts';
import { forbidden, type UnapprovedCall } from '../policy/check-messages.ts';
import type { OwnedRequest } from '../servers/request.ts';
import type { GatewayServer } from '../servers/server.ts';

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
  find(sender: Pick<OwnedRequest, 'principal'>, call: UnapprovedCall, body: Buffer): Promise<ApprovedUse>;
}

/** @param pins what is pinned of the tools, for the approver; `null`: nothing is */
export function createApprovalGate(approvals: CallApprovals, pins: DefinitionPinStore | null): ApprovalGate {
  return {
    async find({ principal }, call, body) {
      const { server, message, because } = call;
      const { subject, clientId, grantId } = principal;
      const tool = message.tool ?? '';
      const given = readArguments(call, body);
      const decision = await approvals.request({
        ...{ subject, clientId, grantId, server: server.path, tool, needed: call.approvals },
        arguments: given.toString(),
        argumentsHash: hash('sha256', given, 'base64url'),
        readDefinition: async () => (pins === null ? null : findDefinition(pins, server, tool)),
      });
      switch (decision.kind) {
        case 'approved':
          return decision.use;
        case 'pending': {
          const { url, isUnderWay } = decision;
          const text = `${tool} at ${server.name} needs an approval for this call. Open ${url} to see or decide it, then try again.`;
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

/** Without the approvals of an authorization server, none is ever given. */
export const noApprovals: ApprovalGate = {
  async find(_sender, { message, because }) {
    throw forbidden(message, 'denied', because);
  },
};

/**
 * The bytes of the arguments, which every parser reads in the same way.
 * @throws MessageError
 */
function readArguments({ message }: UnapprovedCall, body: Buffer): Buffer {
  const { arguments: range, id } = message;
  if (range === null) return Buffer.alloc(0);
  const bytes = body.subarray(range.start, range.end);
  if (bytes.length > MAX_APPROVAL_ARGUMENTS)
    throw new MessageError(INVALID_PARAMS, 'The arguments are too long to be shown for approval.', { id });
  try {
    createCallArguments(() => bytes.toString()).read();
    return bytes;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const text = `The arguments cannot be shown for approval: ${error.message}.`;
    throw new MessageError(INVALID_PARAMS, text, { id });
  }
}

const INVALID_PARAMS = -32_602;

/** The definition that was approved last. */
async function findDefinition(
  pins: DefinitionPinStore,
  { path, pinnedBackend }: GatewayServer,
  tool: string,
): Promise<string | null> {
  const found = await pins.findPins({ server: path, backend: pinnedBackend, kind: 'tool' });
  const approved = found.filter(({ name, status }) => name === tool && status === 'approved');
  return approved.toSorted((one, other) => other.changedAt - one.changedAt)[0]?.definition ?? null;
}

/** A result that the model reads. */
function denied({ message: { tool, id }, because }: UnapprovedCall, reason: string | null): MessageError {
  const why = reason === null ? 'No reason was given.' : `The reason given: ${reason}`;
  return new MessageError(FORBIDDEN, `This call of ${tool} was not approved, and did not run. ${why}`, {
    status: 200,
    id,
    decision: 'approval_denied',
    isToolResult: true,
    because,
  });
}

/** Of the implementation: the operation is not allowed. */
const FORBIDDEN = -32_003;
