/** A bridge between a program that speaks on standard input and output, and a server that speaks HTTP: messages pass as they are. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Fetch } from '@portcullis/client';
import { createHttpWire } from './http-wire.ts';
import { isRequest, type Message, readMessage } from './json-rpc.ts';

export interface BridgeOptions {
  readonly url: string;
  readonly fetch: Fetch;
  readonly input: NodeJS.ReadableStream;
  /** Gets the protocol, and nothing else ever. */
  readonly output: NodeJS.WritableStream;
  /** Tells people what happens, one line each. */
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Ends when the input has ended, the output is gone, or somebody asks for it. */
export async function bridge({ url, fetch, input, output, tell, signal }: BridgeOptions): Promise<void> {
  const wire = createHttpWire({
    url,
    fetch,
    receive: (message) => void output.write(`${JSON.stringify(message)}\n`),
    complain: (error) => tell(error instanceof Error ? error.message : 'The server could not be asked.'),
  });
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  const stop = (): void => lines.close();
  signal.addEventListener('abort', stop);
  output.on('error', stop);
  /** What was said before reaches the server before, though answers are not waited for. */
  let before: Promise<unknown> = Promise.resolve();
  const answering = new Set<Promise<void>>();

  lines.on('line', (line) => {
    if (line.trim() === '') return;
    const messages = readMessages(line);
    if (messages.length === 0) return tell('A line on standard input is no message, and was dropped.');
    for (const message of messages) before = before.then(() => pass(message));
  });
  await once(lines, 'close');
  // Whoever closes its side still gets what it asked for, within reason.
  if (!signal.aborted && output.writable) await Promise.race([finish(), timeUp(), once(signal, 'abort')]);
  await wire.close();

  async function pass(message: Message): Promise<void> {
    const sent = wire.send(message).catch((error: unknown) => {
      tell(error instanceof Error ? error.message : 'A message did not reach the server.');
    });
    // Nothing may overtake the beginning of a session, or what is only told.
    if (!isRequest(message) || message.method === 'initialize') return sent;
    answering.add(sent);
    void sent.finally(() => answering.delete(sent));
    return undefined;
  }

  async function finish(): Promise<void> {
    await before;
    await Promise.all(answering);
  }
}

/** Milliseconds for answers after the input has ended. */
const GRACE = 10_000;

function timeUp(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, GRACE).unref());
}

function readMessages(line: string): readonly Message[] {
  try {
    const json: unknown = JSON.parse(line);
    return (Array.isArray(json) ? json : [json]).map(readMessage).filter((message) => message !== null);
  } catch {
    return [];
  }
}
