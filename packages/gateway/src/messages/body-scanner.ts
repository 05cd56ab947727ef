/** Scans the JSON-RPC body of a request while it arrives: what it asks for, that every parser reads the same, and headers repeat it. */

import type { IncomingHttpHeaders } from 'node:http';
import type { JsonNode } from './json-projection.ts';
import { JsonScanner, type ScanLimits } from './json-scanner.ts';
import { MessageError } from './message-error.ts';
import { messageShape, readOpenMessage, readScannedMessage } from './read-message.ts';
import type { BodyScanner, ScannedBody, ScannedMessage } from './scanned-message.ts';

const defaultLimits: ScanLimits = { depth: 256, text: 256 * 1024, elements: 1000 };

/** A message, or a batch of them. @see MCP 2025-03-26, basic/index, batching */
const bodyShape = { ...messageShape, elements: messageShape };

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/** Creates a scanner for one request body, which reads it chunk by chunk without copying values. */
export function createBodyScanner(limits: ScanLimits = defaultLimits): BodyScanner {
  const scanner = new JsonScanner(bodyShape, limits);
  let known: ScannedBody | null = null;
  let knownAt = -1;
  return {
    push(chunk) {
      try {
        scanner.push(chunk);
      } catch (error) {
        throw unreadable(error);
      }
    },
    peek() {
      const root = scanner.peek();
      if (root === null) return null;
      if (knownAt !== scanner.changes) known = readOpenBody(root, scanner.length);
      knownAt = scanner.changes;
      return known;
    },
    end() {
      try {
        return readBody(scanner.end(), scanner.length);
      } catch (error) {
        throw unreadable(error);
      }
    },
  };
}

/** Scans a body that has arrived whole. @throws MessageError */
export function scanBody(body: Uint8Array): ScannedBody {
  const scanner = createBodyScanner();
  scanner.push(body);
  return scanner.end();
}

function readBody(root: ReturnType<JsonScanner['end']>, length: number): ScannedBody {
  if (root?.type === 'object') return { isBatch: false, messages: [readScannedMessage(root)], length };
  if (root?.type !== 'array' || root.elements.length === 0)
    throw new MessageError(INVALID_REQUEST, 'The body must be a JSON-RPC message, or a batch of them.');
  const messages = root.elements.map(readScannedMessage);
  checkIds(messages);
  return { isBatch: true, messages, length };
}

function readOpenBody(root: JsonNode, length: number): ScannedBody | null {
  const message = root.type === 'object' ? readOpenMessage(root) : null;
  return message === null ? null : { isBatch: false, messages: [message], length };
}

/** Responses to equal ids could not be told apart. */
function checkIds(messages: readonly ScannedMessage[]): void {
  const ids = messages.flatMap(({ kind, id }) => (kind === 'request' ? [id] : []));
  if (new Set(ids).size < ids.length)
    throw new MessageError(INVALID_REQUEST, 'The requests of a batch must have different ids.');
}

function unreadable(error: unknown): unknown {
  if (!(error instanceof SyntaxError)) return error;
  return new MessageError(
    PARSE_ERROR,
    `The body must be JSON that can be read in one way only: ${error.message}.`,
  );
}

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
