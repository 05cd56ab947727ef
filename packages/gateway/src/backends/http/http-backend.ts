/** Backends over HTTP on the message path: Streamable HTTP, with sessions or stateless, and HTTP+SSE. */
import type { TransportFetch, TransportReceiver } from '@portcullis/http';
import type { Addresses } from '../../addresses/addresses.ts';
import type { GatewayServer } from '../../servers/server.ts';
import {
  type BackendAccess,
  BackendError,
  type BackendFailure,
  type BackendSession,
  type InitializeParams,
  type MessageBackend,
  toFailure,
} from '../backend.ts';
import { createMessageExchange, type MessageExchange } from '../exchange/message-exchange.ts';
import { createBackendPools } from './backend-fetch.ts';
import { openStateless } from './stateless-session.ts';
import { connectSseBackend, createBackendTransport } from './transports.ts';

/** The transport of an HTTP backend: with sessions (2025-03-26 to 2025-11-25), stateless (2026-07-28), HTTP+SSE (2024-11-05). */
export type BackendProtocol = 'sessions' | 'stateless' | 'sse';

export interface HttpBackendOptions {
  readonly server: Pick<GatewayServer, 'name' | 'limits'>;
  readonly addresses: Addresses;
  readonly protocol: BackendProtocol;
  /** Client headers to forward, in lower case; none by default. */
  readonly forward?: readonly string[];
}

/** Failures after which another address is tried. */
const DOWN: ReadonlySet<BackendFailure> = new Set(['unavailable', 'lost', 'timeout']);

export function createHttpBackend({
  server,
  addresses,
  protocol,
  forward,
}: HttpBackendOptions): MessageBackend {
  // Over 60 lines: the addresses and sessions of one backend.
  const connections = createBackendPools(server, addresses, forward);
  const sessions = new Set<BackendSession>();

  return {
    async open(_owner, initialize, access) {
      const fetch = connections.fetchFor(access);
      const session = await openFirst((url) => openAt(url, fetch, initialize, access));
      sessions.add(session);
      void session.ended.then(() => sessions.delete(session));
      return session;
    },
    isUp: () => addresses.isUp(),
    async close() {
      await Promise.all([...sessions].map((session) => session.close()));
      await connections.close();
    },
  };

  /** Fails over while an address is down. */
  async function openFirst<T>(open: (url: URL) => Promise<T>): Promise<T> {
    let last: unknown;
    for (const { url } of addresses.all.toSorted((a, b) => a.failures - b.failures)) {
      try {
        return await open(url);
      } catch (error) {
        last = error;
        if (error instanceof BackendError && !DOWN.has(error.failure)) break;
      }
    }
    throw last;
  }

  async function openAt(
    url: URL,
    fetch: TransportFetch,
    initialize: InitializeParams,
    { isShared = false }: BackendAccess,
  ): Promise<BackendSession> {
    const { name, limits } = server;
    const { frame } = limits;
    const timeouts = { first: limits.firstByte * 1000, next: limits.idle * 1000 };
    if (protocol === 'stateless') return openStateless({ name, url, fetch, frame, timeouts }, initialize);
    // The exchange and its transport refer to each other.
    let exchange: MessageExchange | null = null;
    const receiver: TransportReceiver = {
      accept: (message, relatedTo) => exchange?.accept(message, relatedTo),
      fail: (error) => (protocol === 'sse' ? exchange?.fail(error) : exchange?.end(error)),
    };
    const options = { name, url, fetch, limit: frame, receiver };
    const transport =
      protocol === 'sse' ? await connectSseBackend(options, timeouts.first) : createBackendTransport(options);
    exchange = createMessageExchange(transport, { name, timeouts, isShared });
    try {
      const session = exchange.join(await exchange.initialize(initialize));
      return { ...session, close: () => session.close().then(() => transport.close()) };
    } catch (error) {
      await transport.close();
      throw toFailure(error, name);
    }
  }
}
