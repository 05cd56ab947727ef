/** Decides about all messages of a body together, and turns each decision but `allow` into the error that refuses it. */
import {
  type AccessRequest,
  type CallArguments,
  createCallArguments,
  type Explanation,
  NO_ARGUMENTS,
  type PolicyDecision,
  type RequiredApproval,
  type ToolAnnotations,
} from '@portcullis/policy';
import { type McpOperation, OAuthError, unionScopes } from '@portcullis/protocol';
import { isAnonymous } from '@portcullis/resource-server';
import { failedCall, MessageError, type RefusalDecision } from '../messages/message-error.ts';
import type { ScannedBody, ScannedMessage } from '../messages/scanned-message.ts';
import type { OwnedRequest } from '../servers/request.ts';
import type { GatewayServer } from '../servers/server.ts';
import { type Policy, UNKNOWN_METHODS } from './compile-policy.ts';

/** A decision that refuses. */
type Refusal = Exclude<PolicyDecision, { readonly kind: 'allow' | 'approval' }>;

/** What a caller can do about a refusal. Its response is the guard's challenge. */
export class PolicyError extends OAuthError {
  readonly decision: Exclude<Refusal['kind'], 'deny'>;
  readonly because: Explanation;
  /** The call of a tool that it refuses; `null` for anything else, and in a batch. */
  readonly call: ScannedMessage | null;

  constructor(
    decision: PolicyError['decision'],
    because: Explanation,
    call: ScannedMessage | null,
    ...error: ConstructorParameters<typeof OAuthError>
  ) {
    super(...error);
    this.decision = decision;
    this.because = because;
    this.call = call;
  }
}

/** The body of a request, as far as it has arrived. */
export interface DecidedBody extends ScannedBody {
  /** The whole body as the client sent it; `null`: it is streamed, so that a decision about arguments is preliminary. */
  readonly bytes: Buffer | null;
}

/** Who sends a body to which server, from where. */
export type Sender = Pick<OwnedRequest, 'principal' | 'network'> & {
  readonly server: Pick<OwnedRequest['server'], 'path'>;
};

/** A call that meets its rules but for approvals. */
export interface UnapprovedCall {
  /** Of a merged server, the member. */
  readonly server: GatewayServer;
  /** With the names that the server knows. */
  readonly message: ScannedMessage;
  /** Each is needed. */
  readonly approvals: readonly RequiredApproval[];
  readonly because: Explanation;
}

/**
 * A body with one forbidden operation is refused whole; one challenge names the scopes of all.
 * @param hintsOf hints of a tool; `null` when it is unknown
 * @returns the call that has to be approved; `null`: the messages may pass
 * @throws MessageError 403, PolicyError
 */
export function checkMessages(
  policy: Policy,
  body: DecidedBody,
  sender: Sender,
  hintsOf: (tool: string) => ToolAnnotations | null,
): Omit<UnapprovedCall, 'server'> | null {
  let unapproved: Omit<UnapprovedCall, 'server'> | null = null;
  let missing: (Refusal & { readonly kind: 'insufficient_scope' }) | null = null;
  for (const message of body.messages) {
    if (message.kind === 'response') continue;
    const hints = message.tool === null ? null : hintsOf(message.tool);
    const given = argumentsOf(body, message);
    for (const operation of operationsOf(message)) {
      const decision = policy.decide(accessRequest(operation, sender, hints, given));
      if (decision.kind === 'allow') continue;
      if (decision.kind === 'approval') {
        if (body.isBatch) throw unbatchable(message);
        unapproved = { message, approvals: decision.approvals, because: decision.because };
        continue;
      }
      if (decision.kind === 'deny' && isOtherwiseAllowed(policy, operation, sender, hints))
        throw argumentsForbidden(message, decision.because);
      if (decision.kind !== 'insufficient_scope') throw refusalError(decision, operation, body, sender);
      const needed = unionScopes(missing?.needed ?? [], decision.needed);
      missing = { ...decision, needed };
    }
  }
  const [message] = body.messages;
  if (missing !== null && message !== undefined) throw refusalError(missing, message, body, sender);
  return unapproved;
}

/** Whether lists show the operation to this caller, so that only its arguments are refused. */
function isOtherwiseAllowed(
  policy: Policy,
  operation: ScannedMessage,
  sender: Sender,
  hints: ToolAnnotations | null,
): boolean {
  return LISTED.has(policy.decide(accessRequest(operation, sender, hints, 'later')).kind);
}

/** What needs a step-up is listed: a client has to know it to call it. */
export const LISTED: ReadonlySet<PolicyDecision['kind']> = new Set(['allow', 'step_up', 'approval']);

function unbatchable({ id }: ScannedMessage): MessageError {
  return new MessageError('invalidRequest', 'Send a call that needs an approval by itself, not in a batch.', {
    id,
  });
}

/** The error for each kind of decision. */
function refusalError(
  decision: Refusal,
  message: ScannedMessage,
  { isBatch }: ScannedBody,
  { principal }: Sender,
): MessageError | PolicyError {
  const { kind, because } = decision;
  const call = isBatch || message.tool === null || message.kind !== 'request' ? null : message;
  switch (kind) {
    case 'challenge': {
      const text = 'This operation requires an access token.';
      return new PolicyError(kind, because, call, 'invalid_token', text, { reason: because.reason });
    }
    case 'insufficient_scope': {
      const text = 'The access token lacks scopes that this operation requires.';
      return new PolicyError(kind, because, call, kind, text, {
        scopes: decision.needed,
        reason: 'scopes are missing',
      });
    }
    case 'step_up': {
      const { authentication, dpop } = decision;
      const text =
        authentication === null
          ? 'This operation requires an access token that is bound to a key of the client (DPoP).'
          : 'This operation requires another or a more recent sign-in.';
      const code = authentication === null ? 'invalid_token' : 'insufficient_user_authentication';
      return new PolicyError(kind, because, call, code, text, {
        authentication: { ...authentication, ...(dpop && { dpop }) },
        // They suffice.
        scopes: principal.scopes,
        reason: because.reason,
      });
    }
    case 'deny':
      return isBatch || !because.rule.endsWith(`.${UNKNOWN_METHODS}`)
        ? forbidden(message, 'denied', because)
        : unknownMethod(message, because);
  }
}

/** Hints that lead to other scopes than unknown ones where there is no rule. */
const READING: ToolAnnotations = { readOnly: true, destructive: false };

/**
 * Refuses a body with an operation that is not allowed whatever the backend says about its tools, so that the backend need not be
 * asked.
 * @throws MessageError 403, PolicyError for a token that is missing
 */
export function checkForbidden(policy: Policy, body: ScannedBody, sender: Sender): void {
  for (const message of body.messages) {
    if (message.kind === 'response') continue;
    for (const operation of operationsOf(message)) {
      const decision = policy.decide(accessRequest(operation, sender, null, 'later'));
      if (!isFinal(decision)) continue;
      if (isFinal(policy.decide(accessRequest(operation, sender, READING, 'later'))))
        throw refusalError(decision, operation, body, sender);
    }
  }
}

/** Whether no scope, sign-in or approval changes the decision. */
function isFinal(decision: PolicyDecision): decision is Refusal & { readonly kind: 'deny' | 'challenge' } {
  return decision.kind === 'deny' || decision.kind === 'challenge';
}

/** Whether a rule of an operation in the body reads arguments or shows them to an approver, so that the whole body is needed to decide. */
export function readsArguments(policy: Policy, { messages }: ScannedBody): boolean {
  return messages
    .flatMap(operationsOf)
    .some((operation) =>
      policy
        .rulesFor(operation, null)
        .some(({ condition, rule }) => condition?.readsArguments === true || rule.approval !== undefined),
    );
}

/** The operations of a body as the evaluator reads them, each with its message. */
export function accessRequestsOf(
  body: DecidedBody,
  sender: Sender,
  hintsOf: (tool: string) => ToolAnnotations | null,
): readonly { readonly message: ScannedMessage; readonly request: AccessRequest }[] {
  return body.messages
    .filter(({ kind }) => kind !== 'response')
    .flatMap((message) => {
      const hints = message.tool === null ? null : hintsOf(message.tool);
      const given = argumentsOf(body, message);
      return operationsOf(message).map((operation) => ({
        message,
        request: accessRequest(operation, sender, hints, given),
      }));
    });
}

/** The request as the evaluator reads it. */
export function accessRequest(
  operation: McpOperation,
  { principal, network, server }: Sender,
  annotations: ToolAnnotations | null,
  given: AccessRequest['arguments'],
): AccessRequest {
  return {
    principal: isAnonymous(principal) ? null : principal,
    operation,
    server: server.path,
    annotations,
    arguments: given,
    now: Math.floor(Date.now() / 1000),
    network,
  };
}

/** The arguments in the bytes that are sent on. */
function argumentsOf({ bytes }: DecidedBody, { arguments: range }: ScannedMessage): CallArguments | 'later' {
  if (bytes === null) return 'later';
  if (range === null) return NO_ARGUMENTS;
  return createCallArguments(() => bytes.toString('utf8', range.start, range.end));
}

/** A subscription to several resources is as many operations. */
function operationsOf(message: ScannedMessage): readonly ScannedMessage[] {
  if (message.subscriptions.length === 0) return [message];
  return message.subscriptions.map((resource) => ({ ...message, resource }));
}

/** The error for an operation that is not available to this user and client. */
export function forbidden(
  message: ScannedMessage,
  decision: RefusalDecision = 'denied',
  because: Explanation | null = null,
): MessageError {
  return refused(message, 'is not available to you here', decision, because);
}

/** The error for an operation that this user and client may perform with other arguments. */
function argumentsForbidden(message: ScannedMessage, because: Explanation): MessageError {
  return refused(message, 'is not allowed with these arguments', 'denied', because);
}

function refused(
  { mergedName, tool, prompt, resource, method, id }: ScannedMessage,
  predicate: string,
  decision: RefusalDecision,
  because: Explanation | null,
): MessageError {
  const what =
    [tool === null ? null : 'tool', prompt && 'prompt', resource && 'resource'].find((one) => one) ??
    'method';
  const name = mergedName ?? tool ?? prompt ?? resource ?? method;
  const text = `The ${what} ${JSON.stringify(name)} ${predicate}.`;
  return new MessageError('forbidden', text, { status: 403, id, decision, because });
}

/** In a session, 404 says that the session has ended. @see MCP 2026-07-28, Streamable HTTP, protocol version header */
function unknownMethod({ method, id, protocolVersion }: ScannedMessage, because: Explanation): MessageError {
  const status = protocolVersion === null ? 200 : 404;
  return new MessageError('methodNotFound', `Unknown method: ${method}`, {
    status,
    id,
    decision: 'denied',
    because,
  });
}

/**
 * The error that servers of MCP respond with: in sessions a result with `isError`, as the official SDKs do; in the stateless revision a
 * JSON-RPC error. @see MCP 2026-07-28, server/tools, error handling
 */
export function unknownTool(message: ScannedMessage): MessageError {
  const { mergedName, tool, id, protocolVersion } = message;
  const text = `Unknown tool: ${mergedName ?? tool}`;
  const result = protocolVersion === null ? failedCall(message, text) : null;
  return new MessageError('invalidParams', text, { status: 200, id, result });
}
