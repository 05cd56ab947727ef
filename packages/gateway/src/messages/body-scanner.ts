/** Scans the JSON-RPC body of a request while it arrives: what it asks for, and that every parser reads the same. */

import { MAX_URI_BYTES } from '../limits.ts';
import { expectedResponses } from './check-responses.ts';
import type { JsonNode } from './json-projection.ts';
import { JsonScanner, type ScanLimits } from './json-scanner.ts';
import { MessageError } from './message-error.ts';
import { messageShape, readOpenMessage, readScannedMessage } from './read-message.ts';
import type { BodyScanner, ScannedBody, ScannedMessage } from './scanned-message.ts';

const limits: ScanLimits = { depth: 256, text: 256 * 1024, elements: 1000 };

/** A message, or a batch of them. @see MCP 2025-03-26, basic/index, batching */
const bodyShape = { ...messageShape, elements: messageShape };

/** Creates a scanner for one request body, which reads it chunk by chunk without copying values. */
export function createBodyScanner(): BodyScanner {
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
      if (knownAt !== scanner.changes) known = readOpenBody(root, scanner);
      knownAt = scanner.changes;
      return known;
    },
    end() {
      try {
        return readBody(scanner.end(), scanner);
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

type Size = Pick<JsonScanner, 'length' | 'values'>;

function readBody(root: ReturnType<JsonScanner['end']>, { length, values }: Size): ScannedBody {
  if (root?.type === 'object')
    return checkUris({ isBatch: false, messages: [readScannedMessage(root)], length, values });
  if (root?.type !== 'array' || root.elements.length === 0)
    throw new MessageError('invalidRequest', 'The body must be a JSON-RPC message, or a batch of them.');
  const messages = root.elements.map(readScannedMessage);
  return checkUris(checkIds({ isBatch: true, messages, length, values }));
}

function readOpenBody(root: JsonNode, { length, values }: Size): ScannedBody | null {
  const message = root.type === 'object' ? readOpenMessage(root) : null;
  return message === null || hasLongUris([message])
    ? null
    : { isBatch: false, messages: [message], length, values };
}

/** Responses to equal ids could not be told apart, however they are written: `1` and `1.0` are equal. */
function checkIds(batch: ScannedBody): ScannedBody {
  const requests = batch.messages.filter(({ kind }) => kind === 'request');
  if (expectedResponses(batch).ids.size === requests.length) return batch;
  throw new MessageError('invalidRequest', 'The requests of a batch must have different ids.');
}

function checkUris(body: ScannedBody): ScannedBody {
  if (!hasLongUris(body.messages)) return body;
  const text = `The URIs of a body must not be longer than ${MAX_URI_BYTES / 1024} KiB together.`;
  throw new MessageError('invalidParams', text, { id: body.messages[0]?.id ?? null });
}

/** Each URI is compared with the rules in several readings. */
function hasLongUris(messages: readonly ScannedMessage[]): boolean {
  let bytes = 0;
  for (const { resource, subscriptions } of messages) {
    if (resource !== null) bytes += Buffer.byteLength(resource);
    for (const uri of subscriptions) bytes += Buffer.byteLength(uri);
  }
  return bytes > MAX_URI_BYTES;
}

function unreadable(error: unknown): unknown {
  if (!(error instanceof SyntaxError)) return error;
  return new MessageError(
    'parseError',
    `The body must be JSON that can be read in one way only: ${error.message}.`,
  );
}
