/** What a server is that does not answer a request without a token with a challenge: open, a web page, or at another address. */
import { sanitizeText } from '@portcullis/client';
import { coversResource, resourceMetadataUrls } from '@portcullis/protocol';
import { maySpeakSse } from '../client/transport/legacy-sse.ts';
import { readBoundedText } from '../client/transport/responses.ts';
import { isObject, parseJson } from '../json.ts';
import { attempt } from './attempt.ts';
import type { ExaminationContext } from './examination-context.ts';
import { MAX_DOCUMENT, REQUEST_TIMEOUT, sendMcpRequest } from './mcp-request.ts';
import type { Exchange, ResponsibleParty } from './report.ts';

/** Why there is nothing to examine. */
export interface Obstacle {
  readonly message: string;
  readonly remedy: string;
  readonly owner: ResponsibleParty;
  readonly temporary: boolean;
}

const obstacle = (owner: ResponsibleParty, message: string, remedy: string, temporary = false): Obstacle => ({
  ...{ owner, message, remedy, temporary },
});

/**
 * Finds out why a server sent no challenge.
 * @param exchange the response to a request without a token
 * @returns `null`: it is a protected server that breaks the rules, which the examination can continue with
 */
export async function findObstacle(
  context: ExaminationContext,
  exchange: Exchange,
): Promise<Obstacle | null> {
  const { status } = exchange;
  if (status === null || status === 403) return null;
  // A server that does not implement POST is another kind of server.
  if ((status >= 500 && status !== 501) || status === 429) return outOfOrder(status);
  const resources = await findResources(context);
  if (resources.some((resource) => coversResource(resource, context.server))) return null;
  if (speaksMcp(exchange)) return openServer();
  const suggested = await suggestAddress(context, resources);
  return wrongAddress(exchange, suggested);
}

function outOfOrder(status: number): Obstacle {
  const message = `The server is out of order: it answered with status ${status}.`;
  return obstacle('server', message, 'Find out why it is unavailable, and try again.', true);
}

function openServer(): Obstacle {
  return obstacle(
    'server',
    'This is an MCP server without authorization: it answers requests without a token.',
    'Leave it as it is if anyone may use it. Otherwise put a guard in front of it, which answers such requests with status 401.',
  );
}

function wrongAddress({ status, headers, url }: Exchange, suggested: string | null): Obstacle {
  const remedy = suggested === null ? 'Check the path, which is often /mcp.' : `Did you mean ${suggested}?`;
  const location = URL.parse(headers['location'] ?? '', url);
  if (status !== null && status >= 300 && status < 400 && location !== null) {
    const message = `This address redirects to ${sanitizeText(location.href)}, which clients do not follow with a token.`;
    return obstacle(
      'you',
      message,
      suggested === null ? 'Pass the address of the MCP server itself.' : remedy,
    );
  }
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? 'no content type';
  if (type === 'text/html' && status !== null && status < 300)
    return obstacle('you', 'This is a web page, not an MCP server.', remedy);
  const answer = status !== null && status < 300 ? `with ${sanitizeText(type)}` : `with status ${status}`;
  return obstacle('you', `There is no MCP server at this address: it answered ${answer}.`, remedy);
}

/** JSON-RPC, or a stream of events. */
function speaksMcp({ status, headers, body }: Exchange): boolean {
  const isStream = (headers['content-type'] ?? '').toLowerCase().startsWith('text/event-stream');
  if (isStream) return status === 200;
  const json = parseJson(body);
  return isObject(json) && json['jsonrpc'] === '2.0';
}

/** The resources that protected resource metadata on this origin describes. */
async function findResources({ fetch, server }: ExaminationContext): Promise<readonly string[]> {
  const resources: string[] = [];
  for (const url of resourceMetadataUrls(server)) {
    const found = await attempt(async () => {
      const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(REQUEST_TIMEOUT) });
      return parseJson(response.ok ? await readBoundedText(response, MAX_DOCUMENT) : '');
    });
    const json = 'value' in found ? found.value : null;
    if (isObject(json) && typeof json['resource'] === 'string') resources.push(json['resource']);
  }
  return resources;
}

/** Paths where MCP servers usually are. */
const USUAL_PATHS = ['/mcp', '/sse', '/'] as const;

/** An address on the same origin with an MCP server; `null`: none was found. */
async function suggestAddress(
  context: ExaminationContext,
  resources: readonly string[],
): Promise<string | null> {
  const own = new URL(context.server);
  const named = resources.find((resource) => URL.parse(resource)?.origin === own.origin);
  if (named !== undefined) return sanitizeText(named);
  for (const path of USUAL_PATHS) {
    if (path === own.pathname) continue;
    const url = new URL(path, own).href;
    const exchange = await sendOrStream(context, url);
    if (exchange.status === 401 || speaksMcp(exchange)) return url;
  }
  return null;
}

/** Asks for the stream of an HTTP+SSE server where messages cannot be posted. */
export async function sendOrStream(context: ExaminationContext, url: string): Promise<Exchange> {
  const posted = await sendMcpRequest(context, { url, token: null });
  if (posted.status === null || !maySpeakSse(posted.status) || speaksMcp(posted)) return posted;
  const streamed = await sendMcpRequest(context, { url, method: 'GET', token: null });
  return streamed.status === 401 || speaksMcp(streamed) ? streamed : posted;
}
