/** Bridges stdio to Streamable HTTP: passes MCP messages unchanged between a stdio-only host and a remote server. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Fetch } from '@portcullis/client';
import { isRequest, type Message, parseExactly, readMessage } from '@portcullis/http';
import { createReconnectingTransport } from './transport/reconnecting-transport.ts';

export interface BridgeOptions {
  readonly url: string;
  readonly fetch: Fetch;
  /** Receives the message endpoint of an HTTP+SSE server: `fetch` must send the token there too. */
  readonly acceptEndpoint?: (endpoint: URL) => void;
  /** Receives each message of the host before it is sent. */
  readonly observe?: (message: Message) => void;
  readonly input: NodeJS.ReadableStream;
  /** Receives MCP messages only. */
  readonly output: NodeJS.WritableStream;
  /** Reports errors to the user, one line each. */
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Runs until the input ends, the output fails, or the signal aborts. */
export async function bridge(options: BridgeOptions): Promise<void> {
  const { input, output, tell, signal, observe = () => undefined } = options;
  const transport = createReconnectingTransport({
    ...options,
    receive: (message) => void output.write(`${JSON.stringify(message)}\n`),
    complain: (error) => tell(error instanceof Error ? error.message : 'The request to the server failed.'),
  });
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  const stop = (): void => lines.close();
  signal.addEventListener('abort', stop);
  output.on('error', stop);
  /** Preserves message order without waiting for responses. */
  let before: Promise<unknown> = Promise.resolve();
  const pending = new Set<Promise<void>>();

  lines.on('line', (line) => {
    if (line.trim() === '') return;
    const messages = readMessages(line);
    if (messages.length === 0) return tell('Ignored a line on standard input that is not an MCP message.');
    for (const message of messages) before = before.then(() => pass(message));
  });
  await once(lines, 'close');
  // A host that closes the input still receives responses to its requests, for a limited time.
  if (!signal.aborted && output.writable) await Promise.race([finish(), timeUp(), once(signal, 'abort')]);
  await transport.close();

  async function pass(message: Message): Promise<void> {
    observe(message);
    const sent = transport.send(message).catch((error: unknown) => {
      tell(error instanceof Error ? error.message : 'A message did not reach the server.');
    });
    // Nothing may overtake the initialization of a session, or a notification.
    if (!isRequest(message) || message.method === 'initialize') return sent;
    pending.add(sent);
    void sent.finally(() => pending.delete(sent));
    return undefined;
  }

  async function finish(): Promise<void> {
    await before;
    await Promise.all(pending);
  }
}

/** Milliseconds to wait for responses after the input has ended. */
const RESPONSE_GRACE = 10_000;

function timeUp(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, RESPONSE_GRACE).unref());
}

function readMessages(line: string): readonly Message[] {
  try {
    const json = parseExactly(line);
    return (Array.isArray(json) ? json : [json]).map(readMessage).filter((message) => message !== null);
  } catch {
    return [];
  }
}
