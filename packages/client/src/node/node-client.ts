/** A client for programs on a person's computer, with everything that Node can lend it. */
import { type Client, createClient } from '../client.ts';
import type { ClientOptions } from '../configuration.ts';
import { createSystemBrowser } from './browser.ts';
import { createLoopbackReceiver, type LoopbackOptions } from './loopback-receiver.ts';

export interface NodeClientOptions extends ClientOptions {
  /** How the answer of the browser is received. */
  readonly loopback?: LoopbackOptions;
}

/** Makes a client with the system's browser and a loopback receiver, where the options name no others. */
export function createNodeClient(options: NodeClientOptions): Client {
  const { loopback, ...rest } = options;
  return createClient({
    ...rest,
    browser: options.browser ?? createSystemBrowser(),
    receiver: options.receiver ?? createLoopbackReceiver(loopback),
  });
}
