/** Turns calls into audit events, behind the requests: a bounded queue that is emptied when the event loop has its turn. */

import { hash } from 'node:crypto';
import { AUDIT_BATCH, MAX_AUDIT_TEXT, MAX_QUEUED_CALLS } from '../limits/bounds.ts';
import type { CallAudit, CallRecord } from './call-record.ts';
import type { CallEvent, GatewayAuditEvent } from './events.ts';
import { retainedArguments } from './redact.ts';

/** @param emit must not throw */
export function createCallAudit(emit: (event: GatewayAuditEvent) => void): CallAudit {
  let queue: CallEvent[] = [];
  let dropped = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(emitBatch);
  }

  function emitBatch(): void {
    isScheduled = false;
    const batch = queue.slice(0, AUDIT_BATCH);
    queue = queue.slice(AUDIT_BATCH);
    for (const event of batch) emit(event);
    if (dropped > 0) emit({ type: 'audit.dropped', count: dropped });
    dropped = 0;
    if (queue.length > 0) schedule();
  }

  return {
    record(call) {
      if (queue.length >= MAX_QUEUED_CALLS) dropped += 1;
      else queue.push(toEvent(call));
      schedule();
    },
  };
}

/** Neither the request nor its body is kept. */
function toEvent(call: CallRecord): CallEvent {
  const { server, principal, startedAt } = call.request;
  const { subject, clientId, grantId } = principal;
  const { decision, outcome, status, requestBytes, responseBytes } = call;
  return {
    type: 'call.finished',
    clientId,
    ...(subject !== clientId && { accountId: subject }),
    ...(grantId !== null && { grantId }),
    resource: server.resource,
    server: server.path,
    method: shorten(call.method),
    ...targetOf(call),
    decision,
    outcome,
    ...(status !== null && { status }),
    duration: milliseconds(performance.now() - startedAt),
    backendDuration: milliseconds(call.backendMs),
    requestBytes,
    responseBytes,
    ...argumentsOf(call),
  };
}

function targetOf({ method, target }: CallRecord): { readonly tool: string } | { readonly target?: string } {
  if (target === null) return {};
  return method === 'tools/call' ? { tool: shorten(target) } : { target: shorten(target) };
}

function argumentsOf({ arguments: given, request: { server } }: CallRecord): {
  readonly argumentsHash?: string;
  readonly arguments?: string;
} {
  if (given === null) return {};
  if (typeof given === 'string') return { argumentsHash: given };
  const retained = server.audit === null ? null : retainedArguments(given, server.audit);
  return {
    argumentsHash: hash('sha256', given, 'base64url'),
    ...(retained !== null && { arguments: retained }),
  };
}

function shorten(text: string): string {
  return text.length > MAX_AUDIT_TEXT ? `${text.slice(0, MAX_AUDIT_TEXT)}…` : text;
}

/** Hundredths are kept. */
function milliseconds(duration: number): number {
  return Math.round(duration * 100) / 100;
}
