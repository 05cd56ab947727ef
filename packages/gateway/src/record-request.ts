/** Records how a request has ended: an event for each of its messages, and the end of its span. */
import type { Explanation } from '@portcullis/policy';
import type { Span } from '@portcullis/protocol';
import { ApprovalRequired } from './approvals/approval-gate.ts';
import type { CallAudit, CallDecision, CallOutcome, CallRecord } from './audit/call-record.ts';
import { argumentsOf, type KnownBody, lengthOf, scannedOf } from './known-body.ts';
import { MAX_RECORDED_MESSAGES } from './limits.ts';
import { MessageError } from './messages/message-error.ts';
import { UserActionRequired } from './messages/user-action.ts';
import { PolicyError } from './policy/check-messages.ts';
import type { GatewayRequest } from './servers/request.ts';
import { endCallSpan } from './tracing/call-span.ts';

export type RecordedEnd = Pick<
  CallRecord,
  'decision' | 'because' | 'outcome' | 'backendMs' | 'responseBytes'
>;

/** The end of a request to which the backend did not respond. */
export function withoutResponse(
  decision: CallDecision,
  outcome: CallOutcome,
  because: Explanation | null = null,
): RecordedEnd {
  return { decision, because, outcome, backendMs: 0, responseBytes: 0 };
}

/**
 * The end of a request that was refused.
 * @param decision of its response, if that is about a rule or a limit
 * @param status of its response
 */
export function refusalOf(error: unknown, decision: CallDecision | null, status: number): RecordedEnd {
  if (error instanceof ApprovalRequired)
    return withoutResponse('approval_required', 'refused', error.because);
  if (error instanceof UserActionRequired) return withoutResponse('allowed', 'connection_required');
  // A failure to serve a request is not a refusal.
  if (status >= 500) return withoutResponse('allowed', 'unavailable');
  const own = error instanceof MessageError ? error.decision : 'invalid';
  const because = error instanceof MessageError || error instanceof PolicyError ? error.because : null;
  return withoutResponse(decision ?? own, 'refused', because);
}

/** @param end with the span of the request; `null`: it is not traced */
export function recordRequest(
  audit: CallAudit,
  request: GatewayRequest,
  known: KnownBody,
  { span, ...end }: RecordedEnd & Pick<CallRecord, 'approvals'> & { readonly span: Span | null },
): void {
  const { outgoing, incoming } = request;
  const status = outgoing.headersSent ? outgoing.statusCode : null;
  if (span !== null) endCallSpan(span, end.decision, end.outcome, status);
  const traceId = span?.traceId ?? null;
  const common = { ...end, request, status, requestBytes: lengthOf(known), traceId };
  const messages = scannedOf(known)?.messages.slice(0, MAX_RECORDED_MESSAGES) ?? [];
  for (const message of messages) {
    const { method, tool, prompt, resource } = message;
    const target = tool ?? prompt ?? resource;
    audit.record({ ...common, method, target, arguments: argumentsOf(known, message) });
  }
  if (messages.length === 0)
    audit.record({ ...common, method: incoming.method ?? '', target: null, arguments: null });
}
