/** Checks that `Mcp-Param-*` headers repeat the arguments of a call. @see MCP 2026-07-28, Streamable HTTP */
import type { IncomingHttpHeaders } from 'node:http';
import {
  createStandardHeaders,
  decodeHeaderValue,
  isMembers,
  type Message,
  type RequestMessage,
  type StandardHeaders,
} from '@portcullis/http';
import { HEADER_LIST_AGE, HEADER_LIST_TIMEOUT } from '../../limits.ts';
import { MessageError } from '../../messages/message-error.ts';
import type { BackendSession } from '../backend.ts';
import { isLastPage, listPages } from '../list-pages.ts';

/** By session, which all calls of its user share. */
const lists = new WeakMap<BackendSession, SessionList>();

interface SessionList {
  readonly listed: Promise<ListedHeaders>;
  readonly listedAt: number;
}

interface ListedHeaders {
  readonly headers: StandardHeaders;
  /** Whether all tools were listed. */
  readonly isComplete: boolean;
}

/**
 * Checks the headers of a call by the definitions of a session, which are listed again when they do not agree with the headers, and
 * not all the time.
 * @throws MessageError as `checkHeaders`
 */
export async function checkParameterHeaders(
  session: BackendSession,
  message: RequestMessage,
  headers: IncomingHttpHeaders,
): Promise<void> {
  if (message.method !== 'tools/call') return;
  const known = lists.get(session) ?? listFor(session);
  const { headers: declared } = await known.listed;
  if (findWrongHeader(declared, message, headers) === undefined) return;
  const isFresh = performance.now() - known.listedAt < HEADER_LIST_AGE;
  const current = isFresh ? declared : (await listFor(session).listed).headers;
  checkHeaders(current, message, headers);
}

/** @throws MessageError for a header that the body contradicts, or that is missing */
export function checkHeaders(
  declared: StandardHeaders,
  message: Message,
  headers: IncomingHttpHeaders,
): void {
  const wrong = findWrongHeader(declared, message, headers);
  if (wrong === undefined) return;
  const text = `The header ${wrong} does not repeat the argument.`;
  throw new MessageError('headerMismatch', text, { id: JSON.stringify(message.id) });
}

/** The name of a header that is wrong or missing. */
export function findWrongHeader(
  declared: StandardHeaders,
  message: Message,
  headers: IncomingHttpHeaders,
): string | undefined {
  for (const [name, value] of declared.argumentsOf(message))
    if (!repeats(decode(headers[name]), value)) return name;
  return undefined;
}

const DECIMAL = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** Integers are compared as numbers: `42.0` and `4.2e1` repeat `42`. @see MCP 2026-07-28, Streamable HTTP, server validation */
function repeats(header: string | null, value: string | number | boolean): boolean {
  if (header === String(value)) return true;
  return Number.isSafeInteger(value) && header !== null && DECIMAL.test(header) && Number(header) === value;
}

function listFor(session: BackendSession): SessionList {
  const list = { listed: listHeaders(session), listedAt: performance.now() };
  lists.set(session, list);
  return list;
}

/** The headers that the tools of a backend declare; not all of them if a list fails. */
export async function listHeaders(session: Pick<BackendSession, 'request'>): Promise<ListedHeaders> {
  const headers = createStandardHeaders();
  const call = { signal: AbortSignal.timeout(HEADER_LIST_TIMEOUT) };
  try {
    for await (const { result } of listPages((page) => session.request(page, call), 'tools/list')) {
      headers.learn(result);
      if (isMembers(result) && isLastPage(result)) return { headers, isComplete: true };
    }
  } catch {
    // Those of the pages before.
  }
  return { headers, isComplete: false };
}

/** `null` for a value that is not encoded correctly, or missing. */
function decode(value: string | readonly string[] | undefined): string | null {
  return typeof value === 'string' ? decodeHeaderValue(value) : null;
}
