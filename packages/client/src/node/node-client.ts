/** A client for programs on a person's computer, with everything that Node can lend it. */
import { type OptionNames, unknownOptionIssues } from '@portcullis/protocol';
import { type Client, createClient } from '../client.ts';
import { ClientError } from '../errors.ts';
import { type ClientOptions, defaultClientLimits } from '../options.ts';
import { createSystemBrowser } from './browser.ts';
import { createGuardedFetch, toClientError } from './guarded-fetch.ts';
import { createLoopbackReceiver, type LoopbackOptions } from './loopback-receiver.ts';

/** Options of a client, and those of what Node lends it. */
export interface NodeClientOptions extends ClientOptions {
  /** How the answer of the browser is received. */
  readonly loopback?: LoopbackOptions;
}

const LOOPBACK: OptionNames<LoopbackOptions> = { path: true, port: true, timeout: true };

/**
 * Makes a client with the system's browser, a loopback receiver, and a guarded way to OAuth parties, where the options
 * name no others. A `fetch` of one's own carries every leg.
 * @throws ClientError `server_url_invalid` or `configuration_invalid`
 */
export function createNodeClient(options: NodeClientOptions): Client {
  const { loopback, ...rest } = options;
  const issues = unknownOptionIssues(loopback, LOOPBACK, 'loopback.');
  if (issues.length > 0) throw new ClientError('configuration_invalid', `${issues.join('; ')}.`);
  const { timeout, maxBytes: bytes } = { ...defaultClientLimits, ...options.limits };
  const { serverUrl, trustedOrigins = [] } = options;
  return createClient({
    ...rest,
    ...(options.fetch === undefined &&
      options.oauthFetch === undefined && {
        oauthFetch: createGuardedFetch({ serverUrl, trustedOrigins, timeout, maxBytes: bytes }),
        mapFetchError: toClientError,
      }),
    browser: options.browser ?? createSystemBrowser(),
    receiver: options.receiver ?? createLoopbackReceiver(loopback),
  });
}
