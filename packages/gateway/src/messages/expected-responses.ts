/**
 * Which responses a backend may send: clients take a response by its id, whatever request its body answers. Another id would be that
 * of a request that is open elsewhere, whose response is checked there.
 * @see MCP 2025-11-25, Streamable HTTP, Sending Messages to the Server
 */
import { MAX_EXPECTED_ID } from '../limits/bounds.ts';
import type { JsonNode } from './json-projection.ts';
import type { ScannedBody } from './scanned-message.ts';

/** The requests that a body may answer. */
export interface ExpectedResponses {
  /** Their ids, in one form for all spellings. */
  readonly ids: ReadonlySet<string>;
  readonly isBatch: boolean;
}

/** For notifications, and for streams that answer nothing. */
export const NO_RESPONSES: ExpectedResponses = { ids: new Set(), isBatch: false };

export function expectedResponses({ messages, isBatch }: ScannedBody): ExpectedResponses {
  const ids = messages.flatMap(({ kind, id }) => (kind === 'request' && id !== null ? [formOf(id)] : []));
  return { ids: new Set(ids), isBatch };
}

/** Equal for `"a"` and `"\u0061"`, and for `1` and `1.0`. @param json a string or a number */
function formOf(json: string): string {
  return JSON.stringify(JSON.parse(json));
}

/** `result"` or `error"`: as it is, in other case (also with the long s, U+017F), or escaped; or in another encoding than UTF-8. */
const RESPONSE_MEMBER = /(?:re(?:s|\xc5\xbf)ult|error)"|\\u(?:00[4-7]|017f)|\0/i;

/** Whether bytes may hold a response. */
export function mayHoldResponse(bytes: Buffer): boolean {
  return RESPONSE_MEMBER.test(bytes.toString('latin1'));
}

/**
 * Checks one message, or as much of it as has arrived.
 * @param message its members `id`, `method`, `result` and `error`, as far as they are known
 * @throws SyntaxError for a response to none of the requests
 */
export function checkResponse({ members }: JsonNode, { ids }: ExpectedResponses, isComplete: boolean): void {
  const [id, result, error] = ['id', 'result', 'error'].map((name) => members.get(name));
  if (result === undefined && error === undefined) return;
  if (members.has('method')) throw new SyntaxError('it is a request and a response');
  if (id === undefined ? !isComplete : id.end === -1) return;
  // An error whose request could not be read answers none.
  if (result === undefined && (id === undefined || id.text === 'null')) return;
  if (id === undefined || !ids.has(textOf(id))) throw new SyntaxError('it answers another request');
}

/** Whether a complete message is the response to one of the requests. */
export function answersOneOf({ members }: JsonNode, ids: ReadonlySet<string>): boolean {
  const id = members.get('id');
  return (members.has('result') || members.has('error')) && id !== undefined && ids.has(textOf(id));
}

function textOf({ type, text }: JsonNode): string {
  if (type === 'string') return JSON.stringify(text);
  return type === 'scalar' ? formOf(text) : '';
}

/** The ID of an event, with what its stream answers: a client resumes the stream by it. */
export function joinEventId({ ids, isBatch }: ExpectedResponses, id: string): string {
  const retained = isBatch ? [] : [...ids].filter((one) => one.length <= MAX_EXPECTED_ID);
  return JSON.stringify([...retained, id]);
}

/** An ID of an earlier version is that of the backend alone: its stream may send no response. */
export function splitEventId(text: string): { readonly id: string; readonly expected: ExpectedResponses } {
  const parts = readParts(text) ?? [text];
  return { id: parts.at(-1) ?? '', expected: { ids: new Set(parts.slice(0, -1)), isBatch: false } };
}

function readParts(text: string): readonly string[] | null {
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts) && parts.every((part) => typeof part === 'string') ? parts : null;
  } catch {
    return null;
  }
}
