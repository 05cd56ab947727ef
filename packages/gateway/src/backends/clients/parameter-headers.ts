/** Checks that `Mcp-Param-*` headers repeat the arguments of a call. @see MCP 2026-07-28, Streamable HTTP */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import {
  createStandardHeaders,
  decodeHeaderValue,
  errorCodes,
  errorResponse,
  isMembers,
  type Message,
  type RequestMessage,
  type StandardHeaders,
} from '@portcullis/http';
import { HEADER_LIST_TIMEOUT, MAX_LIST_PAGES } from '../../limits.ts';
import type { BackendSession } from '../backend.ts';
import { PARAMETER_HEADER } from '../revisions.ts';

export type ParameterHeaders = Readonly<Record<string, string>>;

/** The arguments that headers have to repeat, by session: its tools are listed at the first call. */
const known = new WeakMap<BackendSession, Promise<StandardHeaders>>();

/** @returns the error for a header that the body contradicts, or that is missing */
export async function checkParameterHeaders(
  session: BackendSession,
  message: RequestMessage,
  headers: IncomingHttpHeaders,
): Promise<Message | null> {
  if (message.method !== 'tools/call') return null;
  const wrong = findWrongHeader(parameterHeadersOf(await learnHeaders(session), message), headers);
  return wrong === undefined
    ? null
    : errorResponse(message.id, errorCodes.headerMismatch, headerMismatchOf(wrong));
}

/** The error for a header. */
export const headerMismatchOf = (header: string): string =>
  `The header ${header} does not repeat the argument.`;

/** The headers that a message has to have. */
export function parameterHeadersOf(headers: StandardHeaders, message: Message): ParameterHeaders {
  return Object.fromEntries(
    Object.entries(headers.of(message)).filter(([name]) => name.startsWith(PARAMETER_HEADER)),
  );
}

/** The name of a header that is wrong or missing. */
export function findWrongHeader(
  expected: ParameterHeaders,
  headers: IncomingHttpHeaders,
): string | undefined {
  return Object.keys(expected).find((name) => decode(headers[name]) !== decode(expected[name]));
}

function learnHeaders(session: BackendSession): Promise<StandardHeaders> {
  const found = known.get(session) ?? listHeaders(session);
  known.set(session, found);
  return found;
}

/** The headers that the tools of a backend declare; none if they are not listed. */
export async function listHeaders(session: BackendSession): Promise<StandardHeaders> {
  const headers = createStandardHeaders();
  const call = { signal: AbortSignal.timeout(HEADER_LIST_TIMEOUT) };
  let params = {};
  for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
    const list: RequestMessage = { jsonrpc: '2.0', id: randomUUID(), method: 'tools/list', params };
    const response = await session.request(list, call).catch(() => null);
    headers.learn(response?.result);
    const cursor = isMembers(response?.result) ? response.result['nextCursor'] : undefined;
    if (typeof cursor !== 'string' || cursor === '') break;
    params = { cursor };
  }
  return headers;
}

/** `null` for a value that is not encoded correctly, or missing. */
function decode(value: string | readonly string[] | undefined): string | null {
  return typeof value === 'string' ? decodeHeaderValue(value) : null;
}
