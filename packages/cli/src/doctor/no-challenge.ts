/** Diagnoses a server that sends no challenge without a token: public, a web page, or at another address. */
import { sanitizeText } from '@portcullis/client';
import { coversResource, resourceMetadataUrls } from '@portcullis/protocol';
import { maySpeakSse } from '../client/transport/reconnecting-transport.ts';
import { isObject, parseJson } from '../json.ts';
import { mediaTypeOf } from './checks.ts';
import type { ExaminationContext } from './examination.ts';
import type { Exchange } from './recorder.ts';
import type { Problem } from './report-builder.ts';
import { fetchDocument, sendMcpRequest } from './requests.ts';

/**
 * Finds out why a server sent no challenge.
 * @param exchange the response to a request without a token
 * @returns `null`: it is a protected server that breaks the rules, which the examination can continue with
 */
export async function findObstacle(context: ExaminationContext, exchange: Exchange): Promise<Problem | null> {
  const { status } = exchange;
  if (status === null || status === 403) return null;
  // A server that does not implement POST is another kind of server.
  if ((status >= 500 && status !== 501) || status === 429) {
    const message = `The server is out of order: it answered with status ${status}.`;
    const remedy = 'Find out why it is unavailable, and try again.';
    return { owner: 'server', message, remedy, temporary: true };
  }
  const resources = await findResources(context);
  if (resources.some((resource) => coversResource(resource, context.server))) return null;
  if (speaksMcp(exchange)) return OPEN_SERVER;
  return explainAddress(exchange, await suggestAddress(context, resources));
}

/** Neither has an effect: no server has them. A server that merges others says that it has no such tool. */
const PROTECTED = [
  { method: 'tools/call', params: { name: 'portcullis-doctor', arguments: {} } },
  { method: 'tasks/get', params: { taskId: 'portcullis-doctor' } },
];

/**
 * The challenge of a server with public operations, which responds to `initialize` without a token.
 * @returns `null`: nothing requires a token
 */
export async function findProtectedOperation(context: ExaminationContext): Promise<Exchange | null> {
  for (const message of PROTECTED) {
    const exchange = await sendMcpRequest(context, { message });
    if (exchange.status === 401) return exchange;
  }
  return null;
}

const OPEN_SERVER: Problem = {
  owner: 'server',
  message: 'This is an MCP server without authorization: it answers requests without a token.',
  remedy:
    'Leave it as it is if anyone may use it. Otherwise put a guard in front of it, which answers such requests with status 401: portcullis protect <url>, or the middleware in the server.',
};

function explainAddress(exchange: Exchange, suggested: string | null): Problem {
  const { headers, url } = exchange;
  const status = exchange.status ?? 0;
  const remedy = suggested === null ? 'Check the path, which is often /mcp.' : `Did you mean ${suggested}?`;
  const location = status >= 300 && status < 400 ? URL.parse(headers.get('location') ?? '', url) : null;
  if (location !== null)
    return {
      owner: 'you',
      // Without the query, which may contain secrets.
      message: `This address redirects to ${sanitizeText(location.href.replace(/[?#].*/s, ''))}, which clients do not follow with a token.`,
      remedy: suggested === null ? 'Pass the address of the MCP server itself.' : remedy,
    };
  const type = mediaTypeOf(exchange);
  const response = status < 300 ? sanitizeText(type) : `status ${status}`;
  const message =
    status < 300 && type === 'text/html'
      ? 'This is a web page, not an MCP server.'
      : `There is no MCP server at this address: it answered with ${response}.`;
  return { owner: 'you', message, remedy };
}

/** JSON-RPC, or a stream of events. */
function speaksMcp(exchange: Exchange): boolean {
  if (mediaTypeOf(exchange) === 'text/event-stream') return exchange.status === 200;
  const json = parseJson(exchange.body);
  return isObject(json) && json['jsonrpc'] === '2.0';
}

/** The resources that protected resource metadata on this origin describes. */
async function findResources({ fetch, server }: ExaminationContext): Promise<readonly string[]> {
  const found = await Promise.all(resourceMetadataUrls(server).map((url) => fetchDocument(fetch, url)));
  return found.map((document) => document?.['resource']).filter((resource) => typeof resource === 'string');
}

/** An address on the same origin with an MCP server; `null` if not found. */
async function suggestAddress(
  context: ExaminationContext,
  resources: readonly string[],
): Promise<string | null> {
  const own = new URL(context.server);
  const named = resources.find((resource) => URL.parse(resource)?.origin === own.origin);
  if (named !== undefined) return sanitizeText(named);
  for (const path of ['/mcp', '/sse', '/']) {
    if (path === own.pathname) continue;
    const url = new URL(path, own).href;
    const exchange = await sendOrStream(context, url);
    if (exchange.status === 401 || speaksMcp(exchange)) return url;
  }
  return null;
}

/** Requests the stream of an HTTP+SSE server where messages cannot be posted. */
export async function sendOrStream(context: ExaminationContext, url: string): Promise<Exchange> {
  const posted = await sendMcpRequest(context, { url });
  if (posted.status === null || !maySpeakSse(posted.status) || speaksMcp(posted)) return posted;
  const streamed = await sendMcpRequest(context, { url, message: null });
  return streamed.status === 401 || speaksMcp(streamed) ? streamed : posted;
}
