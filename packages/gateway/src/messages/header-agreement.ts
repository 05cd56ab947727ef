/** Checks that the standard headers of a request repeat its body, which is what counts. */
import type { IncomingHttpHeaders } from 'node:http';
import { MessageError } from './message-error.ts';
import type { ScannedBody, ScannedMessage } from './scanned-message.ts';

const HEADER_MISMATCH = -32_020;

/**
 * Headers that are missing are left to the backend, which knows its revision.
 * @throws MessageError for a header that the body contradicts
 * @see MCP 2026-07-28, basic/transports, standard request headers
 */
export function checkHeaderAgreement({ isBatch, messages }: ScannedBody, headers: IncomingHttpHeaders): void {
  const [message] = messages;
  if (message === undefined) return;
  const method = headers['mcp-method'];
  const name = headers['mcp-name'];
  if (method !== undefined && (isBatch || method !== message.method)) throw mismatch('Mcp-Method', message);
  if (name !== undefined && (isBatch || !isNameOf(message, String(name))))
    throw mismatch('Mcp-Name', message);
  const version = headers['mcp-protocol-version'];
  for (const one of version === undefined ? [] : messages) {
    if (one.protocolVersion !== null && one.protocolVersion !== version)
      throw mismatch('MCP-Protocol-Version', one);
  }
}

/** Whether a header names what the message applies to. A method that applies to nothing has no use for it. */
function isNameOf({ tool, prompt, resource, task, method }: ScannedMessage, header: string): boolean {
  const target = tool ?? prompt ?? resource ?? task?.value ?? null;
  if (target === null || method === 'completion/complete') return true;
  return decode(header) === target;
}

/** A value that is no plain header text is written as base64 between markers. */
function decode(header: string): string | null {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(header)?.[1];
  if (encoded === undefined) return header;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString() : null;
}

function mismatch(header: string, { id }: ScannedMessage): MessageError {
  return new MessageError(HEADER_MISMATCH, `The header ${header} does not agree with the body.`, { id });
}
