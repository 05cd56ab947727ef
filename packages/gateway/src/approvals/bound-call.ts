/** The parts of a call that an approval binds: the bytes of the arguments, and the values of other parameters and headers with an effect. Pure. */
import { hash } from 'node:crypto';
import { isMembers, type JsonFields, parseExactly } from '@portcullis/http';
import { createCallArguments } from '@portcullis/policy';
import { MAX_APPROVAL_ARGUMENTS } from '../limits.ts';
import { MessageError } from '../messages/message-error.ts';
import type { ScannedMessage } from '../messages/scanned-message.ts';

interface BoundCall {
  /**
   * JSON for the approver: the arguments as they are sent, empty without any; where other parameters or headers with an effect are sent
   * as well, a list of all three.
   */
  readonly arguments: string;
  /** Base64url SHA-256. */
  readonly hash: string;
}

/** The body of a call. */
export interface CallBody {
  /** As the client sent it. */
  readonly bytes: Buffer;
  /** As sent to the backend, with the same bytes of the arguments. */
  readonly sent: Buffer;
}

/**
 * Reads the parts of a call that an approval binds. Every JSON parser reads them with the same result.
 * @param forwarded headers that the configuration of the server names
 * @throws MessageError
 */
export function readBoundCall(message: ScannedMessage, body: CallBody, forwarded: JsonFields): BoundCall {
  const { arguments: range, id } = message;
  const bytes = range === null ? Buffer.alloc(0) : body.bytes.subarray(range.start, range.end);
  const text = bytes.toString();
  if (range !== null) readStrictly(text, 'arguments', id);
  const headers = JSON.stringify(without(forwarded, HEADERS_WITHOUT_EFFECT));
  const found = readOthers(body.sent.toString(), id);
  const others = headers === '{}' ? found : `${found},${headers}`;
  if (bytes.length + Buffer.byteLength(others) > MAX_APPROVAL_ARGUMENTS)
    throw new MessageError('invalidParams', 'The arguments are too long to be shown for approval.', { id });
  if (others === '{}') return { arguments: text, hash: sha256(bytes) };
  return { arguments: `[${text || '{}'},${others}]`, hash: sha256(sha256(bytes) + others) };
}

const sha256 = (data: Buffer | string) => hash('sha256', data, 'base64url');

function readStrictly(text: string, what: string, id: string | null): void {
  try {
    createCallArguments(() => text).read();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const reason = `The ${what} cannot be shown for approval: ${error.message}.`;
    throw new MessageError('invalidParams', reason, { id });
  }
}

/** Parameters that are bound separately. What a client adds for the gateway's own elicitation is not sent. */
const APART: readonly string[] = ['name', 'arguments'];
/** Metadata of the transport and the sender: its values do not change what the call does. */
const WITHOUT_EFFECT: readonly string[] = [
  'progressToken',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
  'traceparent',
  'tracestate',
  'baggage',
];

/** They identify a request, and differ when it is sent again. */
const HEADERS_WITHOUT_EFFECT: readonly string[] = [
  'traceparent',
  'tracestate',
  'baggage',
  'x-request-id',
  'x-correlation-id',
];

/**
 * The other parameters as JSON, such as `task` and the input that a backend requested, and members of `_meta`. Numbers are as they are
 * written: `1.0` is another value than `1` for some servers.
 */
function readOthers(text: string, id: string | null): string {
  const { params } = parseExactly(text) as { readonly params: JsonFields };
  const { _meta: meta, ...others } = params;
  const left = {
    // In one order: a request that is sent again may have another.
    ...sorted(without(others, APART)),
    ...(isMembers(meta) ? metaOf(without(meta, WITHOUT_EFFECT)) : meta !== undefined && { _meta: meta }),
  };
  const found = JSON.stringify(left);
  // `JSON.parse` keeps the last of duplicate members, the backend perhaps another one.
  if (found !== '{}') readStrictly(text, 'parameters', id);
  return found;
}

const metaOf = (meta: JsonFields) => (Object.keys(meta).length === 0 ? {} : { _meta: meta });

function sorted(members: JsonFields): JsonFields {
  return Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function without(members: JsonFields, names: readonly string[]): JsonFields {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}
