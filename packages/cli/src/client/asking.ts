/** Questions to a server over its wire: one answer each, or the reason why there is none. */
import { ClientError, type Fetch } from '@portcullis/client';
import { Refusal } from './answers.ts';
import { createHttpWire, type HttpWire } from './http-wire.ts';
import { type Id, isResponse, type Message, type RpcError, readRpcError } from './json-rpc.ts';

/** The server answered with an error. */
export class ServerError extends Error {
  override readonly name: string = 'ServerError';
  readonly rpc: RpcError;

  constructor(rpc: RpcError) {
    super(rpc.message);
    this.rpc = rpc;
  }
}

/** Asks a method with its parameters. Throws what `fetch` throws, ServerError, and Refusal where there was no message at all. */
export type Ask = (method: string, params?: Readonly<Record<string, unknown>>) => Promise<unknown>;

/** A wire that is asked one question after the other. */
export interface Asking {
  readonly wire: HttpWire;
  readonly ask: Ask;
}

/** Makes both. Nothing that a server could ask of its client is offered here. */
export function createAsking(url: string, fetch: Fetch): Asking {
  const waiting = new Map<Id, (answer: Message) => void>();
  let failure: unknown = null;
  let count = 0;
  const wire = createHttpWire({
    url,
    fetch,
    complain(error) {
      failure = error;
    },
    receive(message) {
      const { id } = message;
      if (id === null || id === undefined) return;
      if (isResponse(message)) waiting.get(id)?.(message);
      else void refuse(id);
    },
  });

  return { wire, ask };

  async function ask(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const id = ++count;
    let answer: Message | null = null;
    waiting.set(id, (message) => {
      answer = message;
    });
    failure = null;
    await wire.send({ jsonrpc: '2.0', id, method, params });
    waiting.delete(id);
    return resultOf(answer);
  }

  function resultOf(answer: Message | null): unknown {
    // What went wrong on the way says more than the answer that was made up for it.
    if (failure instanceof ClientError || failure instanceof Refusal) throw failure;
    if (answer === null) throw new ServerError({ code: -32603, message: 'The server did not answer.' });
    if ('error' in answer) throw new ServerError(readRpcError(answer.error));
    return answer.result;
  }

  async function refuse(id: Id): Promise<void> {
    const error = { code: -32601, message: 'Not offered.' };
    await wire.send({ jsonrpc: '2.0', id, error }).catch(() => undefined);
  }
}
