/** GET and DELETE: who may open the stream of a session, and that DELETE names one. */
import { invalidRequest } from './http/error-response.ts';
import { MessageError } from './messages/message-error.ts';
import { PolicyError } from './policy/check-messages.ts';
import { STREAM } from './policy/streams.ts';
import type { ServerControl } from './server-control.ts';
import type { GatewayRequest } from './servers/request.ts';

/**
 * A backend without sessions sends to every stream what concerns one of its users. Clients do without a stream after 405, where a
 * challenge would begin a sign-in.
 * @throws MessageError 405 for a caller whom no token, or no scope, would help
 * @see MCP 2025-11-25, Streamable HTTP, listening for messages from the server
 */
export function checkStream(
  { checkRules }: Pick<ServerControl, 'checkRules'>,
  request: GatewayRequest,
): void {
  try {
    checkRules(request, STREAM);
  } catch (error) {
    if (!(error instanceof MessageError || error instanceof PolicyError)) throw error;
    const { because } = error;
    const headers = ['allow', 'POST, DELETE'];
    const text = 'This server opens no stream for you. Send requests by POST.';
    throw new MessageError('invalidRequest', text, { status: 405, decision: 'denied', because, headers });
  }
}

/** Without a session, there is nothing to delete. @throws GatewayError 405 */
export function checkNamesSession({ incoming: { headers } }: GatewayRequest): void {
  if (headers['mcp-session-id'] === undefined)
    throw invalidRequest(405, 'DELETE ends a session: send its Mcp-Session-Id.', ['allow', 'POST, GET']);
}
