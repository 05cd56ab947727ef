/** A conversation with a server: asked by the stateless wire where it knows that, else within a session. */
import { ClientError, type Fetch } from '@portcullis/client';
import { profileC, profileD } from '@portcullis/protocol';
import { isObject } from '../json.ts';
import { Refusal } from './answers.ts';
import { createHttpWire } from './http-wire.ts';
import {
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  type Id,
  isResponse,
  type Message,
  type RpcError,
  readRpcError,
  VERSION_KEY,
} from './json-rpc.ts';

/** The server answered with an error. */
export class ServerError extends Error {
  override readonly name: string = 'ServerError';
  readonly rpc: RpcError;

  constructor(rpc: RpcError) {
    super(rpc.message);
    this.rpc = rpc;
  }
}

export interface Conversation {
  /** The revision that is spoken. */
  readonly revision: string;
  /** What the server lists by itself; empty where it knows no such list. */
  readonly listed: readonly string[];
  ask(method: string, parameters?: Readonly<Record<string, unknown>>): Promise<unknown>;
  close(): Promise<void>;
}

export interface ConversationOptions {
  readonly url: string;
  readonly fetch: Fetch;
  readonly version: string;
  /** Named in the capabilities of each request. */
  readonly extensions?: Readonly<Record<string, object>>;
  /** Offers this revision in a session, and asks for no other; by default the newest that both know is spoken. */
  readonly offer?: string;
}

/** Begins one. Throws what `fetch` throws, ServerError, and Refusal where the answer was no message at all. */
export async function converse({
  url,
  fetch,
  version,
  extensions = {},
  offer,
}: ConversationOptions): Promise<Conversation> {
  const clientInfo = { name: 'portcullis', version };
  const capabilities = Object.keys(extensions).length === 0 ? {} : { extensions };
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
      if (isResponse(message) && message.id !== null && message.id !== undefined)
        waiting.get(message.id)?.(message);
      // Nothing that a server could ask of its client is offered here.
      else if (message.id !== undefined && message.id !== null) void refuse(message.id);
    },
  });
  const stateless = {
    [VERSION_KEY]: profileD.revision,
    [CLIENT_INFO_KEY]: clientInfo,
    [CAPABILITIES_KEY]: capabilities,
  };

  const listed = offer === undefined ? await listVersions() : [];
  if (listed.includes(profileD.revision)) {
    return {
      revision: profileD.revision,
      listed,
      ask: (method, parameters = {}) => ask(method, { ...parameters, _meta: stateless }),
      close: wire.close,
    };
  }
  const begun = await ask('initialize', {
    protocolVersion: offer ?? profileC.revision,
    capabilities,
    clientInfo,
  });
  await wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const revision = isObject(begun) ? begun['protocolVersion'] : undefined;
  const spoken = typeof revision === 'string' ? revision : profileC.revision;
  return { revision: spoken, listed, ask, close: wire.close };

  async function listVersions(): Promise<readonly string[]> {
    try {
      const found = await ask('server/discover', { _meta: stateless });
      const versions = isObject(found) ? found['supportedVersions'] : undefined;
      return Array.isArray(versions) ? versions.filter((one) => typeof one === 'string') : [];
    } catch (error) {
      // A server of an older revision does not know the question, each in its own way.
      if (error instanceof ServerError || error instanceof Refusal) return [];
      throw error;
    }
  }

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
