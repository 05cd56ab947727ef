/** Bridges stdio to Streamable HTTP: passes MCP messages unchanged between a stdio-only host and a remote server. */
import { once } from 'node:events';
import type { Fetch } from '@portcullis/client';
import {
  errorCodes,
  errorResponse,
  isMembers,
  isRequest,
  type Message,
  type MessageId,
  parseExactly,
  readMessage,
  toDouble,
} from '@portcullis/http';
import { beforeAbort } from '@portcullis/protocol';
import { createReconnectingTransport } from './transport/reconnecting-transport.ts';

export interface BridgeOptions {
  readonly url: string;
  readonly fetch: Fetch;
  /** For the stream of the server's own messages, which the host does not wait for; `fetch` by default. */
  readonly fetchInBackground?: Fetch;
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
  const receive = (message: Message): void => void output.write(`${JSON.stringify(message)}\n`);
  const transport = createReconnectingTransport({
    ...options,
    receive,
    complain: (error) => tell(error instanceof Error ? error.message : 'The request to the server failed.'),
  });
  const ended = new AbortController();
  const stop = (): void => ended.abort();
  signal.addEventListener('abort', stop);
  output.on('error', stop);
  /** Preserves message order without waiting for responses. */
  let before: Promise<unknown> = Promise.resolve();
  const pending = new Set<Promise<void>>();

  await readLines(input, ended.signal, (line) => {
    if (line.trim() === '') return;
    const messages = readMessages(line);
    if (messages === null) return refuse(errorCodes.parseError);
    for (const { message, id } of messages) {
      if (message !== null) before = before.then(() => pass(message));
      else refuse(errorCodes.invalidRequest, id);
    }
  });
  // A host that closes the input still receives responses to its requests, for a limited time.
  if (!signal.aborted && output.writable) await Promise.race([finish(), timeUp(), once(signal, 'abort')]);
  await transport.close();

  async function pass(message: Message): Promise<void> {
    observe(message);
    const sent = transport.send(message).catch((error: unknown) => {
      tell(error instanceof Error ? error.message : 'A message did not reach the server.');
    });
    // Nothing may overtake the initialization of a session.
    if (message.method === 'initialize' || message.method === 'notifications/initialized') return sent;
    pending.add(sent);
    void sent.finally(() => pending.delete(sent));
    if (isRequest(message)) return undefined;
    // Nor another notification, unless the server does not respond to it.
    const patience = AbortSignal.timeout(NOTIFICATION_PATIENCE);
    return beforeAbort(sent, patience).catch(() => undefined);
  }

  /** The request that the line may have been gets no other response. */
  function refuse(code: number, id: MessageId | null = null): void {
    const reason = 'A line on standard input is not an MCP message.';
    receive(errorResponse(id, code, reason));
    tell(reason);
  }

  async function finish(): Promise<void> {
    await before;
    await Promise.all(pending);
  }
}

/** Milliseconds that later messages wait for the response to a notification. */
const NOTIFICATION_PATIENCE = 2000;
/** Milliseconds to wait for responses after the input has ended. */
const RESPONSE_GRACE = 10_000;

function timeUp(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, RESPONSE_GRACE).unref());
}

/** Lines end at `\n` alone: JSON may contain U+2028 and U+2029, where `readline` would split. Resolves at the end of the input. */
async function readLines(
  input: NodeJS.ReadableStream,
  signal: AbortSignal,
  receive: (line: string) => void,
): Promise<void> {
  let line = '';
  const add = (text: string): void => {
    const [first = '', ...others] = text.split('\n');
    line += first;
    for (const next of others) {
      receive(line);
      line = next;
    }
  };
  input.setEncoding('utf8').on('data', add);
  await once(input, 'end', { signal }).catch(() => undefined);
  input.off('data', add).pause();
  receive(line);
}

/** What a line contains. */
interface Received {
  /** `null`: it is no message. */
  readonly message: Message | null;
  /** As it is written: a host waits for the response with its identifier, also if that has more digits than a double. */
  readonly id: MessageId | null;
}

/** `null` for what is no JSON. @see JSON-RPC 2.0 §5.1 */
function readMessages(line: string): readonly Received[] | null {
  try {
    const json = parseExactly(line);
    return (Array.isArray(json) && json.length > 0 ? json : [json]).map((value) => ({
      message: readMessage(value),
      id: isMembers(value) && 'method' in value ? readId(value['id']) : null,
    }));
  } catch {
    return null;
  }
}

function readId(id: unknown): MessageId | null {
  return typeof toDouble(id) === 'number' || typeof id === 'string' ? (id as MessageId) : null;
}
