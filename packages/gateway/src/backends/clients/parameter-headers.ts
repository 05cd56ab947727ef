/** Checks that `Mcp-Param-*` headers repeat the arguments of a call, for backends of earlier revisions. @see MCP 2026-07-28, Streamable HTTP */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import {
  createStandardHeaders,
  decodeHeaderValue,
  errorCodes,
  errorResponse,
  type Message,
  type RequestMessage,
  type StandardHeaders,
} from '@portcullis/http';
import { HEADER_LIST_TIMEOUT } from '../../limits.ts';
import type { BackendSession } from '../backend.ts';

/** The arguments that headers have to repeat, by session: its tools are listed at the first call. */
const known = new WeakMap<BackendSession, Promise<StandardHeaders>>();

/** @returns the error for a header that the body contradicts, or that is missing */
export async function checkParameterHeaders(
  session: BackendSession,
  message: RequestMessage,
  headers: IncomingHttpHeaders,
): Promise<Message | null> {
  if (message.method !== 'tools/call') return null;
  const expected = (await learnHeaders(session)).of(message);
  const names = Object.keys(expected).filter((name) => name.startsWith('mcp-param-'));
  const wrong = names.find((name) => decode(headers[name]) !== decode(expected[name]));
  if (wrong === undefined) return null;
  return errorResponse(
    message.id,
    errorCodes.headerMismatch,
    `The header ${wrong} does not repeat the argument.`,
  );
}

function learnHeaders(session: BackendSession): Promise<StandardHeaders> {
  const found = known.get(session) ?? listTools(session);
  known.set(session, found);
  return found;
}

async function listTools(session: BackendSession): Promise<StandardHeaders> {
  const headers = createStandardHeaders();
  const call = { signal: AbortSignal.timeout(HEADER_LIST_TIMEOUT) };
  const list: RequestMessage = { jsonrpc: '2.0', id: randomUUID(), method: 'tools/list', params: {} };
  const response = await session.request(list, call).catch(() => null);
  headers.learn(response?.result);
  return headers;
}

/** `null` for a value that is not encoded correctly, or missing. */
function decode(value: string | readonly string[] | undefined): string | null {
  return typeof value === 'string' ? decodeHeaderValue(value) : null;
}
