/** The official SDKs, each as an application uses it: authorize once, then connect and call tools. */
import * as two from '@modelcontextprotocol/client';
import { UnauthorizedError as UnauthorizedByOne } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { User } from '../support/user.ts';
import type { Recorder } from './exchanges.ts';
import type { MemoryProvider } from './memory-provider.ts';

export interface Sdk {
  readonly name: string;
  /** Connects without tokens, so that the SDK starts an authorization; completes it as a user. */
  signIn(resource: string, provider: MemoryProvider, user: User, fetch?: Recorder['fetch']): Promise<void>;
  connect(resource: string, provider: MemoryProvider, fetch?: Recorder['fetch']): Promise<Session>;
}

export interface Session {
  /** Returns the structured content of a tool's result. */
  call(tool: string, input?: Readonly<Record<string, unknown>>): Promise<unknown>;
  close(): Promise<void>;
}

const info = { name: 'interop', version: '1.0.0' };

export const sdkOne: Sdk = {
  name: '@modelcontextprotocol/sdk 1.x',
  async signIn(resource, provider, user, fetch = globalThis.fetch) {
    const transport = new TransportOne(new URL(resource), { authProvider: provider, fetch });
    await refused(
      new ClientOne(info).connect(transport as Parameters<ClientOne['connect']>[0]),
      UnauthorizedByOne,
    );
    const response = await provider.ask(user);
    await transport.finishAuth(response.get('code') ?? '');
  },
  async connect(resource, provider, fetch = globalThis.fetch) {
    const client = new ClientOne(info);
    const transport = new TransportOne(new URL(resource), { authProvider: provider, fetch });
    await client.connect(transport as Parameters<ClientOne['connect']>[0]);
    return sessionOf(client);
  },
};

export const sdkTwo: Sdk = {
  name: '@modelcontextprotocol/client 2.x',
  async signIn(resource, provider, user, fetch = globalThis.fetch) {
    const transport = new two.StreamableHTTPClientTransport(new URL(resource), {
      authProvider: provider,
      fetch,
    });
    await refused(new two.Client(info).connect(transport), two.UnauthorizedError);
    await transport.finishAuth(await provider.ask(user));
  },
  async connect(resource, provider, fetch = globalThis.fetch) {
    const client = new two.Client(info);
    await client.connect(
      new two.StreamableHTTPClientTransport(new URL(resource), { authProvider: provider, fetch }),
    );
    return sessionOf(client);
  },
};

export const sdks: readonly Sdk[] = [sdkOne, sdkTwo];

/** The common parts of both SDKs and all their transports. */
interface Caller {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export function sessionOf(client: Caller): Session {
  return {
    async call(name, input = {}) {
      const result = await client.callTool({ name, arguments: { ...input } });
      if (result['isError'] === true) throw new Error(JSON.stringify(result['content']));
      return result['structuredContent'];
    },
    close: () => client.close(),
  };
}

async function refused(connection: Promise<void>, reason: new () => Error): Promise<void> {
  const error = await connection.then(
    () => new Error('it was let in without a token'),
    (cause: unknown) => cause,
  );
  if (!(error instanceof reason)) throw error;
}
