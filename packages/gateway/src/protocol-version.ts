/** Which revisions of MCP a client may name in a header. */
import type { IncomingHttpHeaders } from 'node:http';
import { STATELESS, WITH_SESSIONS } from './backends/revisions.ts';
import { MessageError } from './messages/message-error.ts';
import type { ScannedBody } from './messages/scanned-message.ts';

const INVALID_REQUEST = -32_600;

/** @see MCP 2025-06-18, key changes */
const LAST_WITH_BATCHES = '2025-03-26';

/**
 * A stateless request that names a version in the body, too, is left to the backend, whose error lists what it supports.
 * @throws MessageError for a version that does not exist, or has no batches
 * @see MCP 2025-06-18, basic/transports, protocol version header
 */
export function checkProtocolVersion(
  { isBatch, messages: [message] }: ScannedBody,
  headers: IncomingHttpHeaders,
): void {
  const header = headers['mcp-protocol-version'];
  if (header === undefined || message === undefined) return;
  const version = String(header);
  const { id, protocolVersion } = message;
  const all = [...WITH_SESSIONS, STATELESS];
  if (protocolVersion === null && !all.includes(version)) {
    const text = `MCP-Protocol-Version ${JSON.stringify(version)} is not supported: ${all.join(', ')} are.`;
    throw new MessageError(INVALID_REQUEST, text, { id });
  }
  if (isBatch && version > LAST_WITH_BATCHES)
    throw new MessageError(INVALID_REQUEST, `MCP ${version} has no batches: send one message.`, { id });
}
