/** What policy decides about an operation and for whom, and its decision about all messages of a body together. */
import { type McpOperation, OAuthError, type Scopes, unionScopes } from '@portcullis/protocol';
import type { Principal } from '@portcullis/resource-server';
import { MessageError, type RefusalDecision } from '../messages/message-error.ts';
import type { ScannedBody, ScannedMessage } from '../messages/scanned-message.ts';

/** Annotations of a tool that propose scopes when no rule is configured. They are the backend's own claims about itself. */
export interface ToolHints {
  readonly readOnly: boolean;
  readonly destructive: boolean;
}

/** The decision of a policy about one call. */
export type AccessDecision =
  | { readonly kind: 'allow' }
  /** The token may do it with more scopes. */
  | { readonly kind: 'insufficient_scope'; readonly needed: Scopes }
  /** No scope would help. `reason` is for the audit log. */
  | { readonly kind: 'deny'; readonly reason: string };

/** Who performs an operation: what rules can name. */
export type Caller = Pick<Principal, 'clientId' | 'scopes' | 'groups' | 'claims'>;

/** The compiled rules of a server. Pure. */
export interface Policy {
  /** @param hints of the tool; `null` when it is unknown, or the operation is none of a tool */
  decide(operation: McpOperation, caller: Caller, hints: ToolHints | null): AccessDecision;
}

/** Of the implementation: the operation is not allowed, with whatever scopes. */
const FORBIDDEN = -32_003;

/**
 * A body with one forbidden operation is refused whole; one challenge names the scopes of all.
 * @param hintsOf hints of a tool; `null` when it is unknown
 * @throws MessageError 403, OAuthError `insufficient_scope`
 */
export function checkMessages(
  policy: Policy,
  { messages }: ScannedBody,
  caller: Caller,
  hintsOf: (tool: string) => ToolHints | null,
): void {
  let needed: Scopes | null = null;
  for (const message of messages) {
    if (message.kind === 'response') continue;
    const hints = message.tool === null ? null : hintsOf(message.tool);
    for (const operation of operationsOf(message)) {
      const decision = policy.decide(operation, caller, hints);
      if (decision.kind === 'deny') throw forbidden(message);
      if (decision.kind === 'insufficient_scope') needed = unionScopes(needed ?? [], decision.needed);
    }
  }
  if (needed === null) return;
  throw new OAuthError('insufficient_scope', 'The access token lacks scopes that this operation requires.', {
    scopes: needed,
    reason: 'scopes are missing',
  });
}

/** Hints that lead to different scopes where there is no rule. */
const POSSIBLE_HINTS: readonly (ToolHints | null)[] = [null, { readOnly: true, destructive: false }];

/**
 * Refuses a body with an operation that is not allowed whatever the backend says about its tools, so that the backend need not be
 * asked.
 * @throws MessageError 403
 */
export function checkForbidden(policy: Policy, { messages }: ScannedBody, caller: Caller): void {
  for (const message of messages) {
    if (message.kind === 'response') continue;
    const isForbidden = operationsOf(message).some((operation) =>
      POSSIBLE_HINTS.every((hints) => policy.decide(operation, caller, hints).kind === 'deny'),
    );
    if (isForbidden) throw forbidden(message);
  }
}

/** A subscription to several resources is as many operations. */
function operationsOf(message: ScannedMessage): readonly ScannedMessage[] {
  if (message.subscriptions.length === 0) return [message];
  return message.subscriptions.map((resource) => ({ ...message, resource }));
}

/** The error for an operation that is not available to this user and client. */
export function forbidden(
  { tool, prompt, resource, method, id }: ScannedMessage,
  decision: RefusalDecision = 'denied',
): MessageError {
  const what =
    [tool === null ? null : 'tool', prompt && 'prompt', resource && 'resource'].find((one) => one) ??
    'method';
  const name = tool ?? prompt ?? resource ?? method;
  return new MessageError(FORBIDDEN, `The ${what} ${JSON.stringify(name)} is not available to you here.`, {
    status: 403,
    id,
    decision,
  });
}

const INVALID_PARAMS = -32_602;

/**
 * The error that servers of MCP respond with: in sessions a result with `isError`, as the official SDKs do; in the stateless revision a
 * JSON-RPC error. @see MCP 2026-07-28, server/tools, error handling
 */
export function unknownTool({ tool, id, protocolVersion }: ScannedMessage): MessageError {
  const isToolResult = protocolVersion === null;
  return new MessageError(INVALID_PARAMS, `Unknown tool: ${tool}`, { status: 200, id, isToolResult });
}
