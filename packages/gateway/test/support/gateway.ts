/** A gateway on a port of its own, with a guard whose tokens are the names of users. */

import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { CallApprovals } from '@portcullis/authorization-server';
import { createOptionReport, readOption } from '@portcullis/authorization-server/options';
import { listen } from '@portcullis/http/node';
import type { CompileCondition } from '@portcullis/policy';
import { type DefinitionPinStore, OAuthError } from '@portcullis/protocol';
import { createGuard, type DpopOptions, type TokenVerifier } from '@portcullis/resource-server';
import type { CallRecord } from '../../src/audit/call-record.ts';
import type { CredentialSource } from '../../src/credentials/credential-source.ts';
import { createGateway, type DecisionPoint, type Gateway, type GatewayEvent } from '../../src/index.ts';
import {
  defineServers,
  type GatewayServer,
  type GatewayServerOptions,
  guardResourcesOf,
  serversSchema,
} from '../../src/options.ts';

const ISSUER = 'https://as.example';

/**
 * The token `alice` has every scope at every server; `alice_client` is with another client, `alice_client_mcp.read` has one scope,
 * `alice@/files` is for the server at that path only, and `alice~thumbprint` is bound to that key.
 */
const verifier: TokenVerifier = {
  issuers: [ISSUER],
  verify(token, { resource, now }) {
    const [named = '', path] = token.split('@');
    const [written = '', jkt] = named.split('~');
    const [subject = '', clientId = 'inspector', ...scopes] = written.split('_');
    if (path !== undefined && !resource.endsWith(path))
      throw new OAuthError('invalid_token', 'The token is for another server.');
    const all = ['read', 'write'].map((kind) => `${resource.split('/').at(-1)}:${kind}`);
    const claims = {
      iss: ISSUER,
      sub: subject,
      client_id: clientId,
      aud: resource,
      exp: now + 600,
      iat: now,
      jti: token,
      ...(jkt !== undefined && { cnf: { jkt } }),
      scope: (scopes.length === 0 ? all : scopes.map((scope) => scope.replace('.', ':'))).join(' '),
    };
    return { claims, freshUntil: now + 600 };
  },
};

export interface TestGateway {
  readonly origin: string;
  readonly gateway: Gateway;
  readonly events: readonly GatewayEvent[];
  replaceServers(written: readonly GatewayServerOptions[]): void;
  /** What the audit log receives. */
  readonly calls: readonly CallRecord[];
  /** Sends a request to `/mcp` as a user, who may be `alice_client`. */
  send(user: string | null, init?: SendOptions): Promise<Response>;
  /** The open connections of clients. */
  countConnections(): number;
  close(): Promise<void>;
}

interface SendOptions {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: unknown;
  readonly signal?: AbortSignal;
}

export function defineTestServers(
  written: readonly GatewayServerOptions[],
  publicUrl: string,
): readonly GatewayServer[] {
  const report = createOptionReport();
  const options = readOption(serversSchema(), written, ['servers'], report);
  const servers = defineServers(options, { publicUrl, folder: '/' }, report);
  if (report.issues.length > 0) throw new Error(JSON.stringify(report.issues));
  return servers;
}

export async function startGateway(
  written: readonly GatewayServerOptions[],
  {
    masterKey = randomBytes(32),
    publicUrl,
    pins,
    strippedPrefix = null,
    probeInterval,
    credentials,
    conditions = null,
    approvals = null,
    decisionPoint = null,
    dpop,
  }: {
    readonly dpop?: DpopOptions;
    readonly approvals?: CallApprovals | null;
    readonly decisionPoint?: DecisionPoint | null;
    readonly conditions?: CompileCondition | null;
    readonly pins?: DefinitionPinStore;
    readonly masterKey?: Uint8Array;
    readonly publicUrl?: string;
    readonly strippedPrefix?: string | null;
    /** Milliseconds. */
    readonly probeInterval?: number;
    readonly credentials?: CredentialSource;
  } = {},
): Promise<TestGateway> {
  const connections = new Set<Socket>();
  // As the command serves it: node:http alone would retain the parser of an open stream.
  const listening = await listen(
    async () => ({
      node(incoming, outgoing) {
        const { socket } = incoming;
        if (!connections.has(socket)) connections.add(socket.once('close', () => connections.delete(socket)));
        return gateway.handle(incoming, outgoing);
      },
    }),
    { port: 0, host: '127.0.0.1' },
  );
  const origin = `http://127.0.0.1:${listening.port}`;
  const servers = defineTestServers(written, publicUrl ?? origin);
  const events: GatewayEvent[] = [];
  const calls: CallRecord[] = [];
  const audit = { record: (call: CallRecord) => void calls.push(call) };
  const create = (some: readonly GatewayServer[], previous: Gateway | null): Gateway =>
    createGateway({
      servers: some,
      guard: createGuard({
        resources: guardResourcesOf(some),
        verifier,
        events: () => {},
        ...(dpop && { dpop }),
      }),
      masterKey,
      conditions,
      approvals,
      decisionPoint,
      events: (event) => events.push(event),
      audit,
      previous,
      ...(pins && { pins }),
      strippedPrefix,
      ...(credentials && { credentials }),
      ...(probeInterval !== undefined && { probeInterval }),
    });
  let gateway = create(servers, null);
  return {
    origin,
    get gateway() {
      return gateway;
    },
    events,
    replaceServers(next) {
      gateway = create(defineTestServers(next, publicUrl ?? origin), gateway);
    },
    calls,
    send: (user, { method = 'POST', path = '/mcp', headers = {}, message, signal } = {}) =>
      fetch(`${origin}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          ...(user !== null && { authorization: `Bearer ${user}` }),
          accept: 'application/json, text/event-stream',
          ...(method === 'POST' && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(method === 'POST' && {
          body: typeof message === 'string' ? message : JSON.stringify(message ?? PING),
        }),
        ...(signal && { signal }),
      }),
    countConnections: () => connections.size,
    async close() {
      await listening.close(0);
      await gateway.close();
    },
  };
}

export const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
