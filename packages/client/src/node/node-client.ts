/** A client for programs on the user's computer: the system's browser, a loopback receiver and an SSRF guard by default. */
import { type OptionNames, unknownOptionIssues } from '@portcullis/protocol';
import { type Client, createClient } from '../client.ts';
import { ClientError } from '../errors.ts';
import { type ClientOptions, defaultClientLimits } from '../options.ts';
import { createSystemBrowser } from './browser.ts';
import { defaultClientName } from './client-name.ts';
import { createGuardedFetch, toClientError } from './guarded-fetch.ts';
import { createLoopbackReceiver, type LoopbackOptions } from './loopback-receiver.ts';

/** Options of a client, and of its loopback receiver. */
export interface NodeClientOptions extends ClientOptions {
  /** How the browser's redirect is received. */
  readonly loopback?: LoopbackOptions;
}

const LOOPBACK: OptionNames<LoopbackOptions> = { path: true, port: true, timeout: true };

/**
 * Creates a client with the system's browser, a loopback receiver, and guarded requests to OAuth endpoints, unless the
 * options replace them. A custom `fetch` sends every request. Without `registration.clientName`, it registers under the
 * name of the program and of this computer.
 * @throws ClientError `server_url_invalid` or `configuration_invalid`
 * @see RFC 8252 §6 and §7.3
 */
export function createNodeClient(options: NodeClientOptions): Client {
  const { loopback, ...rest } = options;
  const issues = unknownOptionIssues(loopback, LOOPBACK, 'loopback.');
  if (issues.length > 0) throw new ClientError('configuration_invalid', `${issues.join('; ')}.`);
  const { timeout, maxBytes } = { ...defaultClientLimits, ...options.limits };
  const { serverUrl, trustedOrigins = [] } = options;
  return createClient({
    ...rest,
    ...(options.fetch === undefined &&
      options.oauthFetch === undefined && {
        oauthFetch: createGuardedFetch({ serverUrl, trustedOrigins, timeout, maxBytes }),
        mapFetchError: toClientError,
      }),
    registration: { clientName: () => defaultClientName(), ...options.registration },
    browser: options.browser ?? createSystemBrowser(),
    receiver: options.receiver ?? createLoopbackReceiver(loopback),
  });
}
