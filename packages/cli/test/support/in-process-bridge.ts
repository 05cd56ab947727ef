/** An MCP transport to the stdio bridge in the process of the test: what `portcullis connect` runs, without starting Node. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { bridge } from '../../src/client/bridge.ts';

/** Standard input and output of a bridge. */
export interface RunningBridge {
  readonly input: PassThrough;
  readonly output: PassThrough;
  /** Lines on standard error. */
  readonly errors: string[];
  /** Resolves when the bridge has ended, after the end of its input or `stop`. */
  readonly ended: Promise<void>;
  /** What SIGTERM does: ends the bridge without waiting for responses. */
  stop(): void;
}

/** Starts a bridge to an unprotected server. */
export function startBridge(url: string): RunningBridge {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const errors: string[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;
  const ended = bridge({ url, fetch, input, output, tell: (line) => void errors.push(line), signal });
  return { input, output, errors, ended, stop: () => stopping.abort() };
}

/** A transport for the official MCP client. */
export function bridgeTransport(url: string): Transport {
  const { input, output, ended, stop } = startBridge(url);
  const transport: Transport = {
    async start() {
      createInterface({ input: output }).on('line', (line) =>
        transport.onmessage?.(JSONRPCMessageSchema.parse(JSON.parse(line))),
      );
    },
    async send(message) {
      if (!input.write(`${JSON.stringify(message)}\n`)) await once(input, 'drain');
    },
    async close() {
      stop();
      await ended;
      transport.onclose?.();
    },
  };
  return transport;
}
