/** `Mcp-Param-*` headers of calls that pass through: compared with the body, by the definitions of the tools. @see MCP 2026-07-28, Streamable HTTP */
import type { IncomingHttpHeaders } from 'node:http';
import { createStandardHeaders, type Message, type StandardHeaders } from '@portcullis/http';
import { createLruCache } from '@portcullis/protocol';
import {
  findWrongHeader,
  headerMismatchOf,
  listHeaders,
  type ParameterHeaders,
  parameterHeadersOf,
} from './backends/clients/parameter-headers.ts';
import { PARAMETER_HEADER } from './backends/revisions.ts';
import type { OwnSessions } from './catalogue/list-tools.ts';
import { MAX_HEADER_LISTS } from './limits.ts';
import { MessageError } from './messages/message-error.ts';
import { type GatewayRequest, ownerKey } from './servers/request.ts';

export function hasParameterHeaders(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => name.startsWith(PARAMETER_HEADER));
}

/**
 * A header is forwarded only if the tool's definition has it. The definitions of each owner are listed
 * again when they do not agree with the headers.
 */
export function createParameterHeaders(sessions: (request: GatewayRequest) => ReturnType<OwnSessions>) {
  const lists = createLruCache<Promise<StandardHeaders>>({ entries: MAX_HEADER_LISTS });

  /** @returns the headers to forward @throws MessageError for one that the body contradicts, or that is missing */
  return async (request: GatewayRequest, body: unknown): Promise<ParameterHeaders> => {
    const { headers } = request.incoming;
    if (!Buffer.isBuffer(body) || !hasParameterHeaders(headers)) return {};
    const message = JSON.parse(body.toString()) as Message;
    if (message.method !== 'tools/call') return {};
    const key = ownerKey(request.owner);
    const found = lists.get(key);
    if (found !== undefined) {
      const expected = parameterHeadersOf(await found, message);
      const sent = Object.keys(headers).filter((name) => name.startsWith(PARAMETER_HEADER));
      if (findWrongHeader(expected, headers) === undefined && sent.every((name) => name in expected))
        return expected;
    }
    // Without a list, none is forwarded, and the backend refuses a call that lacks one.
    const listed = listOnce(sessions(request)).catch(createStandardHeaders);
    lists.set(key, listed);
    const expected = parameterHeadersOf(await listed, message);
    const wrong = findWrongHeader(expected, headers);
    if (wrong === undefined) return expected;
    throw new MessageError('headerMismatch', headerMismatchOf(wrong), { id: JSON.stringify(message.id) });
  };
}

async function listOnce(sessions: ReturnType<OwnSessions>): Promise<StandardHeaders> {
  const [open] = await sessions;
  if (open === undefined) return createStandardHeaders();
  const { session, isOwn } = await open();
  return listHeaders(session).finally(() => (isOwn ? session.close().catch(() => undefined) : undefined));
}
