/** A single MCP request of the doctor, with or without a token, and its recorded exchange. */
import { attempt } from './attempt.ts';
import type { ExaminationContext } from './examination-context.ts';
import type { Exchange } from './report.ts';

/** Milliseconds per request. */
export const REQUEST_TIMEOUT = 15_000;

/** Characters of the longest document that is read. */
export const MAX_DOCUMENT = 262_144;

/** What is sent. */
interface McpRequestOptions {
  /** The server's URL by default. */
  readonly url?: string;
  /** `initialize` is posted; an HTTP+SSE server is asked for its stream. */
  readonly method?: 'POST' | 'GET';
  /** `null`: none. */
  readonly token: string | null;
}

/** Sends it; stops the examination when there is no response. */
export async function sendMcpRequest(
  {
    fetch,
    report,
    recorder,
    server,
    version,
  }: Pick<ExaminationContext, 'fetch' | 'report' | 'recorder' | 'server' | 'version'>,
  { url = server, method = 'POST', token }: McpRequestOptions,
): Promise<Exchange> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'portcullis-doctor', version },
  };
  const post = {
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  };
  const { headers, ...rest } = method === 'POST' ? post : { headers: { accept: 'text/event-stream' } };
  const sent = await attempt(() =>
    fetch(url, {
      method,
      headers: { ...headers, ...(token !== null && { authorization: `Bearer ${token}` }) },
      ...rest,
      redirect: 'manual',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    }),
  );
  if ('failure' in sent) return report.fail('request', sent.failure);
  await sent.value.body?.cancel();
  const exchange = recorder.exchanges.at(-1);
  if (exchange === undefined) throw new TypeError('Every request is recorded.');
  return exchange;
}
