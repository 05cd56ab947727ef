/** Tests a server's backend from this computer, and locates the failure: the backend, its messages, or the gateway's credential. */

import type { Principal } from '@portcullis/resource-server';
import { createAddresses } from './addresses/addresses.ts';
import { BackendError, type BackendSession, type MessageBackend } from './backends/backend.ts';
import { createHttpBackend } from './backends/http/http-backend.ts';
import { GATEWAY_INITIALIZE } from './backends/revisions.ts';
import { createStdioBackend, describeSlowStart } from './backends/stdio/stdio-backend.ts';
import { credentialsOfServer, noCredential, USER_CREDENTIALS } from './credentials/credential-source.ts';
import { createCredentialSource } from './credentials/credentials.ts';
import { SERVER_TEST_TIMEOUT } from './limits.ts';
import { ownerOf } from './servers/request.ts';
import type { BackendDefinition, GatewayServer } from './servers/server.ts';

/** Location of a failure. */
export type FailedPart = 'backend' | 'protocol' | 'credential';

/** The result of `testServer`: what the backend offers, or which part failed. */
export type ServerTest =
  | { readonly ok: true; readonly revision: string; readonly tools: number | null }
  | { readonly ok: false; readonly part: FailedPart; readonly reason: string };

/**
 * Opens a session and lists the tools. Only connects to a backend that needs a user's credential.
 * @param timeout milliseconds of the whole test
 */
export async function testServer(
  server: GatewayServer,
  backend: BackendDefinition,
  timeout: number = SERVER_TEST_TIMEOUT,
): Promise<ServerTest> {
  const needsUser = USER_CREDENTIALS.has(credentialsOfServer({ backend }).as);
  const opened: MessageBackend[] = [];
  const stop = AbortSignal.timeout(timeout);
  try {
    const session = await Promise.race([open(server, backend, needsUser, opened), late(stop, backend)]);
    const { protocolVersion: revision } = session.initialized;
    return { ok: true, revision, tools: await countTools(session, stop) };
  } catch (error) {
    const { part, reason } = explain(error, server);
    if (needsUser && part === 'credential') return { ok: true, revision: '', tools: null };
    return { ok: false, part, reason };
  } finally {
    for (const one of opened) await one.close();
  }
}

async function open(
  server: GatewayServer,
  definition: BackendDefinition,
  needsUser: boolean,
  opened: MessageBackend[],
): Promise<BackendSession> {
  // Requests that need a user are not sent.
  const source = createCredentialSource({} as Parameters<typeof createCredentialSource>[0]);
  const principal = tester(server);
  const credential = needsUser ? noCredential : await source.for(principal, server);
  const access = { principal: null, credential: () => credential, rejected: async () => 'final' as const };
  const owner = ownerOf(principal, server, '');
  let last: unknown;
  for (const create of candidates(server, definition)) {
    const backend = create();
    opened.push(backend);
    try {
      return await backend.open(owner, GATEWAY_INITIALIZE, access);
    } catch (error) {
      last = error;
      if (!(error instanceof BackendError) || !hasResponded(error)) break;
    }
  }
  throw last;
}

/** The transports to try, the usual one first. */
function candidates(server: GatewayServer, definition: BackendDefinition): readonly (() => MessageBackend)[] {
  if (definition.kind === 'stdio') return [() => createStdioBackend({ server, definition, log: () => {} })];
  const protocols = definition.kind === 'sse' ? (['sse'] as const) : (['sessions', 'stateless'] as const);
  const addresses = createAddresses(definition, server, () => {});
  return protocols.map((protocol) => () => createHttpBackend({ server, addresses, protocol }));
}

function tester({ resource }: GatewayServer): Principal {
  return {
    issuer: '',
    subject: 'portcullis',
    clientId: 'portcullis',
    scopes: [],
    resource,
    grantId: null,
    expiresAt: 0,
    email: null,
    name: null,
    groups: [],
    claims: {},
  };
}

async function countTools(session: BackendSession, signal: AbortSignal): Promise<number | null> {
  const message = { jsonrpc: '2.0', id: 'test', method: 'tools/list' } as const;
  const { result } = await session.request(message, { signal });
  const tools: unknown = (result as { readonly tools?: unknown } | undefined)?.tools;
  return Array.isArray(tools) ? tools.length : null;
}

function late(signal: AbortSignal, definition: BackendDefinition): Promise<never> {
  const why = definition.kind === 'stdio' ? ` ${describeSlowStart(definition)}` : '';
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () =>
      reject(new BackendError('timeout', `It does not answer in time${why}.`)),
    );
  });
}

function explain(
  error: unknown,
  { name, backend }: GatewayServer,
): { readonly part: FailedPart; readonly reason: string } {
  const reason = error instanceof Error ? error.message : `${name} cannot be tested.`;
  if (!(error instanceof BackendError)) return { part: 'credential', reason };
  if (error.failure === 'challenged') return { part: 'credential', reason };
  if (!hasResponded(error)) return { part: 'backend', reason };
  return { part: 'protocol', reason: `${reason}${adviceOnPath(error, backend)}` };
}

/** A URL without the path of the MCP endpoint is the usual mistake. */
function adviceOnPath({ status }: BackendError, backend: GatewayServer['backend']): string {
  if (backend === null || backend.kind === 'stdio' || (status !== 404 && status !== 405)) return '';
  const isUsual = backend.urls.every(({ pathname }) => pathname === '/mcp');
  return ` There is no MCP server at this address${isUsual ? '' : ': check the path, which is often /mcp'}.`;
}

/** Whether a server responded, and refused the request. */
function hasResponded({ failure, status }: BackendError): boolean {
  return failure === 'refused' || (status !== null && status >= 300 && status < 500);
}
