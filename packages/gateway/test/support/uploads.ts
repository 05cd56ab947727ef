/** Both ends of a request body that takes its time: a client that writes it in pieces, and a backend that shows how much has arrived. */
import {
  type ClientRequest,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from './backend.ts';
import type { TestGateway } from './gateway.ts';

/** A request as far as it has arrived. */
interface Arriving {
  readonly headers: IncomingHttpHeaders;
  readonly chunks: readonly Buffer[];
  readonly length: () => number;
  /** `whole`: its body has ended as HTTP says. */
  readonly state: () => 'open' | 'whole' | 'aborted';
  readonly incoming: IncomingMessage;
}

export interface UploadBackend {
  readonly url: string;
  readonly arriving: readonly Arriving[];
  close(): Promise<void>;
}

const MOST_PARSED = 16 * 1024 * 1024;

/** @param read starts to read a request; by default at once */
export async function startUploadBackend(
  read: (incoming: IncomingMessage) => void = (incoming) => void incoming.resume(),
): Promise<UploadBackend> {
  const arriving: Arriving[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    let [length, state]: [number, ReturnType<Arriving['state']>] = [0, 'open'];
    incoming.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
    });
    incoming.on('end', () => {
      state = 'whole';
      const text = length === 0 || length > MOST_PARSED ? '{}' : Buffer.concat(chunks).toString();
      const { id } = JSON.parse(text) as { readonly id?: unknown };
      // Also one of revision 2026-07-28.
      json(response, {
        jsonrpc: '2.0',
        id: id ?? null,
        result: { supportedVersions: ['2026-07-28'], capabilities: {} },
      });
    });
    incoming.on('error', () => {});
    incoming.on('close', () => {
      if (state === 'open') state = 'aborted';
    });
    incoming.pause();
    const one = { headers: incoming.headers, chunks, length: () => length, state: () => state, incoming };
    arriving.push(one);
    read(incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    arriving,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export interface Upload {
  /** Settles when the client may write more. */
  write(part: string | Buffer): Promise<void>;
  end(part?: string | Buffer): void;
  /** Bytes that the connection has taken. */
  sent(): number;
  abort(): void;
  /** `null`: there was none. */
  readonly response: Promise<{ readonly status: number; readonly text: string } | null>;
}

/** Begins a request of a user. @param length of the whole body; without it the body is sent in chunks */
export function startUpload(
  { origin }: TestGateway,
  user: string,
  {
    length,
    headers = {},
  }: { readonly length?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Upload {
  const sending: ClientRequest = request(`${origin}/mcp`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${user}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(length !== undefined && { 'content-length': length }),
      ...headers,
    },
  });
  const response = new Promise<Awaited<Upload['response']>>((resolve) => {
    sending.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      const finish = () =>
        resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', finish).on('error', finish);
    });
    sending.on('error', () => resolve(null)).on('close', () => resolve(null));
  });
  sending.flushHeaders();
  return {
    response,
    write: (part) =>
      new Promise((resolve) => {
        if (sending.write(part)) resolve();
        else sending.once('drain', resolve);
      }),
    end: (part) => void sending.end(part),
    sent: () => sending.socket?.bytesWritten ?? 0,
    abort: () => void sending.destroy(),
  };
}
