/** Tool calls through the gateway, in one session of each token, as a flow. */

import { check } from '../authorization/flows.ts';
import { machineToken } from '../authorization/portcullis.ts';
import { type Begin, request, type Step, walk } from '../harness/load.ts';

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const VERSION = '2025-11-25';

/** Calls by client credentials. */
export async function gatewayFlow(port: number): Promise<Begin> {
  let token = '';
  await walk(port, () =>
    machineToken((issued) => {
      token = issued;
    }),
  );
  return callFlow(port, [token]);
}

/** @param tokens access tokens, used in turn */
export async function callFlow(port: number, tokens: readonly string[]): Promise<Begin> {
  const senders: Readonly<Record<string, string>>[] = [];
  for (const token of tokens) {
    const headers = { ...HEADERS, authorization: `Bearer ${token}` };
    senders.push({ ...headers, ...(await openSession(port, headers)) });
  }
  const params = { name: 'echo', arguments: { text: 'The text that this tool returns.' } };
  const texts = Array.from({ length: 1000 }, (_, index) =>
    message(senders[index % senders.length] ?? {}, { id: 1000 + index, method: 'tools/call', params }),
  );
  const read: Step['read'] = ({ status, body }) => {
    check(status === 200 && body.includes('"result"'), `status ${status} for a call`);
    return null;
  };
  let next = 0;
  return () => {
    next = (next + 1) % texts.length;
    return { request: texts[next] ?? '', read };
  };
}

async function openSession(
  port: number,
  headers: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const clientInfo = { name: 'bench', version: '1.0.0' };
  const params = { protocolVersion: VERSION, capabilities: {}, clientInfo };
  let id: string | undefined;
  await walk(port, () => ({
    request: message(headers, { id: 0, method: 'initialize', params }),
    read({ status, head }) {
      id = /\r\nmcp-session-id: ([^\r]*)/i.exec(head)?.[1];
      check(id !== undefined, `status ${status}, no session`);
      return null;
    },
  }));
  return { 'mcp-session-id': id ?? '', 'mcp-protocol-version': VERSION };
}

function message(headers: Readonly<Record<string, string>>, content: object): string {
  return request('POST', '/mcp', headers, JSON.stringify({ jsonrpc: '2.0', ...content }));
}
