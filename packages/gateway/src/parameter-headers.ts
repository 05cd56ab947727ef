/** `Mcp-Param-*` headers of requests that pass through: compared with the body, by the definitions of the tools. @see MCP 2026-07-28, Streamable HTTP */
import type { IncomingHttpHeaders } from 'node:http';
import { type Message, parseExactly, type StandardHeaders } from '@portcullis/http';
import { createLruCache } from '@portcullis/protocol';
import { checkHeaders, findWrongHeader, listHeaders } from './backends/clients/parameter-headers.ts';
import { PARAMETER_HEADER } from './backends/revisions.ts';
import type { OwnSessions } from './catalogue/list-tools.ts';
import { HEADER_LIST_AGE, MAX_HEADER_LISTS } from './limits.ts';
import { type GatewayRequest, ownerKey } from './servers/request.ts';

const isParameterHeader = (name: string): boolean => name.startsWith(PARAMETER_HEADER);

export function hasParameterHeaders(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some(isParameterHeader);
}

/** The definitions of an owner. */
interface HeaderList {
  /** `null`: they could not be listed. */
  readonly declared: Promise<StandardHeaders | null>;
  readonly listedAt: number;
}

/**
 * A header that a tool's definition has is forwarded as the body has the argument. The definitions of each owner are listed again when
 * they do not agree with the headers, and not all the time.
 */
export function createParameterHeaders(sessions: (request: GatewayRequest) => ReturnType<OwnSessions>) {
  const lists = createLruCache<HeaderList>({ entries: MAX_HEADER_LISTS });

  /** @returns the headers to forward @throws MessageError for one that the body contradicts, or that is missing */
  return async (request: GatewayRequest, body: unknown): Promise<Readonly<Record<string, string>>> => {
    const { headers } = request.incoming;
    if (!Buffer.isBuffer(body) || !hasParameterHeaders(headers)) return {};
    const message = parseExactly(body.toString()) as Message;
    const key = ownerKey(request.owner);
    const known = lists.get(key);
    const declared = (await known?.declared) ?? null;
    if (message.method !== 'tools/call' || (declared !== null && agree(declared, message, headers)))
      return forwardedOf(declared, message, headers);
    const now = performance.now();
    const isFresh = known !== undefined && now - known.listedAt < HEADER_LIST_AGE;
    const list = isFresh ? known : { declared: listOnce(sessions(request)).catch(() => null), listedAt: now };
    lists.set(key, list);
    const current = await list.declared;
    // The backend refuses a call that lacks one.
    if (current === null) return {};
    checkHeaders(current, message, headers);
    return forwardedOf(current, message, headers);
  };
}

/** Whether the headers are those that the definitions declare. */
function agree(declared: StandardHeaders, message: Message, headers: IncomingHttpHeaders): boolean {
  const expected = declared.argumentsOf(message);
  const sent = Object.keys(headers).filter(isParameterHeader);
  return (
    findWrongHeader(declared, message, headers) === undefined && sent.every((name) => expected.has(name))
  );
}

/**
 * Intermediaries MUST forward a header that they do not recognize. One that a definition declares, but not for an argument of this
 * call, repeats nothing and is not forwarded.
 */
function forwardedOf(
  declared: StandardHeaders | null,
  message: Message,
  headers: IncomingHttpHeaders,
): Readonly<Record<string, string>> {
  const unknown = Object.entries(headers).filter(
    ([name]) => isParameterHeader(name) && declared?.declares(name) !== true,
  );
  const own = Object.entries(declared?.of(message) ?? {}).filter(([name]) => isParameterHeader(name));
  return Object.fromEntries([...unknown, ...own].map(([name, value]) => [name, String(value)]));
}

async function listOnce(sessions: ReturnType<OwnSessions>): Promise<StandardHeaders | null> {
  const [open] = await sessions;
  if (open === undefined) return null;
  const { session, isOwn } = await open();
  const { headers, isComplete } = await listHeaders(session).finally(() =>
    isOwn ? session.close().catch(() => undefined) : undefined,
  );
  return isComplete ? headers : null;
}
