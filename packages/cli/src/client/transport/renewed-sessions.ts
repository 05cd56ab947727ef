/** Sessions at a server: opens a new one when the server has lost the old one, and uses HTTP+SSE for a server that supports nothing newer. */
import { randomUUID } from 'node:crypto';
import { ClientError, type Fetch } from '@portcullis/client';
import {
  connectLegacySse,
  createStandardHeaders,
  createStreamableHttp,
  IncompleteResponse,
  isResponseTo,
  type McpTransport,
  type Message,
  statelessVersion,
  type TransportReceiver,
} from '@portcullis/http';
import { readMessageEndpoint } from './message-endpoint.ts';
import { HttpResponseError, MAX_RESPONSE, readError } from './responses.ts';

export interface SessionOptions {
  readonly url: string;
  /** Authorized fetch for every request. */
  readonly fetch: Fetch;
  /** For the stream of the server's own messages, which the host does not wait for; `fetch` by default. */
  readonly fetchInBackground?: Fetch;
  /** Receives every message of the server, in order. */
  readonly receive: (message: Message) => void;
  /** Receives errors that no message can report. */
  readonly complain?: (error: unknown) => void;
  /** Receives the message endpoint of an HTTP+SSE server: `fetch` must send the token there too. */
  readonly acceptEndpoint?: (endpoint: URL) => void;
}

interface Session {
  readonly isSse: boolean;
  readonly transport: McpTransport;
  readonly hasEnded: () => boolean;
}

/** Statuses of a server that no longer has a session, and has not executed the request. */
const LOST: ReadonlySet<number> = new Set([400, 404]);

type OpenSession = (receiver: TransportReceiver) => Session | Promise<Session | null>;

/** @param onStreamEnd called when the stream of HTTP+SSE has ended: no more responses will arrive */
export function createRenewedSessions(options: SessionOptions, onStreamEnd: (error: Error) => void) {
  const { openStreamable, openSse } = createOpeners(options);
  const receiver = { accept: options.receive, fail: onStreamEnd };
  const closing = new AbortController();
  let session: Session = openStreamable(receiver);
  let initialize: Message | null = null;
  let reopening: Promise<void> | null = null;

  return {
    /** Sends a message in the current session, or in a new one if the server has lost it. @throws as McpTransport */
    async send(message: Message, signal: AbortSignal): Promise<void> {
      const belongs = message.method !== 'initialize' && statelessVersion(message) === null;
      if (belongs && session.hasEnded()) await replace(session);
      const used = session;
      try {
        await used.transport.send(message, signal);
        if (message.method === 'initialize') initialize = message;
      } catch (error) {
        const isLost = used.hasEnded() && error instanceof HttpResponseError && LOST.has(error.status);
        if (!belongs || used.isSse || !isLost || initialize === null) throw error;
        await replace(used);
        await session.transport.send(message, signal);
      }
    },
    /** Whether responses arrive after `send`, on the stream of HTTP+SSE. */
    isSse: () => session.isSse,
    /** Switches to HTTP+SSE. @returns whether the server supports it */
    async switchToSse(): Promise<boolean> {
      const opened = await openSse(receiver);
      session = opened ?? session;
      return opened !== null;
    },
    async close(): Promise<void> {
      closing.abort();
      await session.transport.close();
    },
  };

  async function replace(lost: Session): Promise<void> {
    if (session !== lost || initialize === null || closing.signal.aborted) return;
    reopening ??= reopen(lost.isSse ? openSse : openStreamable, initialize).finally(() => {
      reopening = null;
    });
    await reopening;
  }

  /** Initializes a new session with the host's original `initialize`, transparently to the host. */
  async function reopen(open: OpenSession, first: Message): Promise<void> {
    const id = randomUUID();
    const initialized = Promise.withResolvers<void>();
    initialized.promise.catch(() => undefined);
    const opened = await open({
      accept: (message) => (isResponseTo(message, id) ? initialized.resolve() : options.receive(message)),
      fail(error) {
        initialized.reject(error);
        onStreamEnd(error);
      },
    });
    if (opened === null) throw new Error('The server no longer offers its event stream.');
    await opened.transport.send({ ...first, id }, closing.signal);
    await initialized.promise;
    await opened.transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' }, closing.signal);
    session = opened;
  }
}

/** Timeout for the message endpoint, in milliseconds. */
const ENDPOINT_TIMEOUT = 10_000;

function createOpeners(options: SessionOptions) {
  const { url, fetch, fetchInBackground = fetch } = options;
  const { complain = () => undefined, acceptEndpoint = () => undefined } = options;
  const own = { url: new URL(url), fetch, limit: MAX_RESPONSE, readError };
  const statelessHeaders = createStandardHeaders();
  return { openStreamable, openSse };

  function openStreamable({ accept }: TransportReceiver): Session {
    let hasEnded = false;
    const fail = (): void => {
      hasEnded = true;
    };
    const receiver = { accept, fail };
    const onStreamError = (error: unknown): boolean => {
      complain(error);
      // A sign-in begins with the next message of the host.
      return !(error instanceof ClientError) || error.temporary;
    };
    const transport = createStreamableHttp({
      ...own,
      receiver,
      statelessHeaders,
      fetchInBackground,
      onStreamError,
    });
    return { isSse: false, transport, hasEnded: () => hasEnded };
  }

  /** @returns `null` if the server does not support it @throws ClientError `endpoint_refused`, and errors of `fetch` */
  async function openSse({ accept, fail }: TransportReceiver): Promise<Session | null> {
    let hasEnded = false;
    const receiver = {
      accept,
      fail(error: Error) {
        hasEnded = true;
        fail(error);
      },
    };
    const readEndpoint = (text: string): URL => {
      const endpoint = readMessageEndpoint(text, url);
      acceptEndpoint(endpoint);
      return endpoint;
    };
    try {
      const transport = await connectLegacySse({ ...own, receiver, timeout: ENDPOINT_TIMEOUT, readEndpoint });
      return { isSse: true, transport, hasEnded: () => hasEnded };
    } catch (error) {
      const isRefusal = error instanceof HttpResponseError || error instanceof IncompleteResponse;
      if (isRefusal || (error instanceof Error && error.name === 'AbortError')) return null;
      throw error;
    }
  }
}
