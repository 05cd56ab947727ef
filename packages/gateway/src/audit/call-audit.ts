/** Turns calls into audit events. */
import { hash } from 'node:crypto';
import type { Explanation } from '@portcullis/policy';
import { MAX_AUDIT_ARGUMENTS, MAX_AUDIT_TEXT } from '../limits.ts';
import type { ArgumentAudit } from '../servers/server.ts';
import type { CallAudit, CallRecord } from './call-record.ts';
import type { CallEvent } from './events.ts';

/** @param emit queues the event: it must neither throw nor wait */
export function createCallAudit(emit: (event: CallEvent) => void): CallAudit {
  return { record: (call) => emit(toEvent(call)) };
}

/** Retains neither the request nor its body. */
function toEvent(call: CallRecord): CallEvent {
  const { server, principal, owner, startedAt } = call.request;
  const { subject, clientId, grantId } = principal;
  const { decision, outcome, status, requestBytes, responseBytes } = call;
  return {
    type: 'call.finished',
    traceId: call.traceId ?? undefined,
    ...(owner.isAnonymous ? { site: owner.subject } : { clientId }),
    ...(subject !== clientId && { accountId: subject }),
    ...(grantId !== null && { grantId }),
    resource: server.resource,
    server: server.path,
    method: shorten(call.method),
    ...targetOf(call),
    decision,
    ...(call.because && explanationOf(call.because, server.audit)),
    outcome,
    ...(call.approvals.length > 0 && { approvals: call.approvals }),
    ...(status !== null && { status }),
    duration: milliseconds(performance.now() - startedAt),
    backendDuration: milliseconds(call.backendMs),
    requestBytes,
    responseBytes,
    ...argumentsOf(call),
  };
}

function explanationOf(
  { rule, reason, values }: Explanation,
  audit: ArgumentAudit | null,
): Pick<CallEvent, 'rule' | 'reason' | 'values'> {
  const retained = Object.entries(values ?? {}).flatMap(([path, value]) => retainedValue(path, value, audit));
  return {
    rule,
    reason: shorten(reason),
    ...(retained.length > 0 && { values: JSON.stringify(Object.fromEntries(retained)) }),
  };
}

const ARGUMENTS = 'call.arguments.';

/** What a condition read of the arguments is retained as the arguments are. */
function retainedValue(
  path: string,
  value: unknown,
  audit: ArgumentAudit | null,
): readonly (readonly [string, unknown])[] {
  if (!path.startsWith(ARGUMENTS)) return [[path, value]];
  if (audit === null) return [];
  const names = path.slice(ARGUMENTS.length).split('.');
  return [[path, audit.redact.some((redacted) => covers(redacted.split('.'), names)) ? REDACTED : value]];
}

/** Whether a path leads to a value, or to one that contains it. */
function covers(redacted: readonly string[], names: readonly string[]): boolean {
  return redacted.every((name, index) => index < names.length && (name === '*' || name === names[index]));
}

function targetOf({ method, target }: CallRecord): Pick<CallEvent, 'tool' | 'target'> {
  if (target === null) return {};
  return method === 'tools/call' ? { tool: shorten(target) } : { target: shorten(target) };
}

function argumentsOf({
  arguments: given,
  request: { server },
}: CallRecord): Pick<CallEvent, 'argumentsHash' | 'arguments'> {
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

/** Rounded to hundredths. */
function milliseconds(duration: number): number {
  return Math.round(duration * 100) / 100;
}

const REDACTED = '[redacted]';

/**
 * The arguments of a call without the values at configured paths, and within a bound.
 * @returns JSON; `null` for arguments that are too long, or not JSON
 */
export function retainedArguments(bytes: Uint8Array, { redact }: ArgumentAudit): string | null {
  if (bytes.length > MAX_AUDIT_ARGUMENTS) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return JSON.stringify(redact.reduce((found, path) => without(found, path.split('.')), value));
  } catch {
    return null;
  }
}

/** The value with another one at a path; `*` is any member, and the elements of an array need no name. */
function without(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return REDACTED;
  if (Array.isArray(value)) {
    const isElement = name === '*' || /^\d+$/.test(name);
    return value.map((element: unknown, index) => {
      if (!isElement) return without(element, [name, ...rest]);
      return name === '*' || Number(name) === index ? without(element, rest) : element;
    });
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      name === '*' || name === key ? without(member, rest) : member,
    ]),
  );
}
