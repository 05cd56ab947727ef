/** The transmitter of security events: its configuration, and management and polling of streams behind a guard of its own. */
import type { DecideScopes, OutboundSettings } from '@portcullis/authorization-server';
import type { EventStreamRecord } from '@portcullis/authorization-server/store';
import { respondJson, toResponse } from '@portcullis/http';
import { isLoopbackHost, OAuthError } from '@portcullis/protocol';
import type { Guard, Principal, ResourceOptions } from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import { checkScope, isOfClient } from '../check-scope.ts';
import { createAccountReading } from '../operations/accounts.ts';
import { isBelow } from '../routes.ts';
import type { DeliveryReport } from '../webhooks/delivery.ts';
import { createReadEvents } from '../webhooks/event-reader.ts';
import { ENDPOINTS, respondToReceiver } from './endpoint.ts';
import {
  type SharedSignalsOptions,
  SSF_MANAGE,
  SSF_PATH,
  SSF_READ,
  transmitterResourceOf,
} from './options.ts';
import { createPoll } from './poll.ts';
import { createPushDelivery, type PushDelivery } from './push.ts';
import { STREAM_EVENTS } from './security-events.ts';
import { POLL, PUSH } from './stream-configuration.ts';
import { StreamError } from './stream-error.ts';
import { createStreamTokens } from './stream-tokens.ts';
import { createStreams, type StreamContext } from './streams.ts';

/** What is composed of the setting `sharedSignals`. */
export interface TransmitterOptions extends Omit<StreamContext, 'allowLoopback' | 'accounts'> {
  readonly settings: SharedSignalsOptions;
  readonly outbound: OutboundSettings;
  /** A guard that verifies tokens as the others do. */
  readonly createGuard: (resources: readonly ResourceOptions[]) => Guard;
  /** Receives the outcome of each attempt to push. */
  readonly report: (stream: EventStreamRecord, report: DeliveryReport) => void;
}

/** The transmitter, to be mounted at the root of its origin. */
export interface EventTransmitter {
  /** Whether a path is served here. */
  belongs(path: string): boolean;
  fetch(request: Request): Promise<Response>;
  readonly push: PushDelivery;
  /** Ends polls that wait. */
  close(): void;
}

const CONFIGURATION = '/.well-known/ssf-configuration';
const METADATA = `/.well-known/oauth-protected-resource${SSF_PATH}`;
/** Seconds for which the configuration may be cached. */
const MAX_AGE = 300;

/** Creates the transmitter of an installation. */
export function createEventTransmitter(options: TransmitterOptions): EventTransmitter {
  const { issuer, settings, store, keys, clock, events } = options;
  const allowLoopback = options.outbound.allowLoopback === true || isLoopbackHost(new URL(issuer).hostname);
  const outbound = { ...options.outbound, allowLoopback };
  const accounts = createAccountReading(store);
  const context: StreamContext = { issuer, store, accounts, keys, clock, events, allowLoopback };
  const findReceiver = (clientId: string) => settings.receivers.find(({ client }) => client === clientId);
  const findTokens = createStreamTokens({ issuer, store, accounts, findReceiver, sign: keys.sign });
  const readEvents = createReadEvents(store, clock, ({ type }) => STREAM_EVENTS.includes(type));
  const poll = createPoll({ store, clock, readEvents, findTokens, events });
  const closing = new AbortController();
  const { resource, name, scopes, hierarchy = {} } = transmitterResourceOf(issuer);
  // A receiver needs both: the metadata names what it has to request. CAEP Interoperability Profile 1.0 §2.7
  const guard = options.createGuard([{ resource, name, defaultScopes: Object.keys(scopes), hierarchy }]);
  const guarded = protect(guard, async (request: Request, principal: Principal) => {
    const { clientId } = principal;
    if (!isOfClient(principal) || findReceiver(clientId) === undefined)
      throw new OAuthError('insufficient_scope', 'This client is no receiver of security events.');
    const response = await respondToReceiver({
      request,
      streams: createStreams(context, clientId),
      requireScope: (scope) => checkScope(principal, scope, hierarchy),
      async poll(id, body) {
        const stream = await store.findEventStream(id);
        if (stream?.clientId !== clientId || stream.endpoint !== null)
          throw new StreamError(404, 'There is no such stream, or it is pushed.');
        return poll(stream, body, AbortSignal.any([closing.signal, request.signal]));
      },
    });
    return toResponse(response);
  });
  const document = configurationOf(issuer);
  return {
    belongs: (path) => path === CONFIGURATION || isBelow(path, SSF_PATH) || path === METADATA,
    async fetch(request) {
      if (new URL(request.url).pathname !== CONFIGURATION) return guarded(request);
      if (request.method === 'GET' || request.method === 'HEAD')
        return toResponse(respondJson(document, { maxAge: MAX_AGE }));
      return toResponse(respondJson({}, { status: 405, headers: { allow: 'GET, HEAD' } }));
    },
    push: createPushDelivery({ ...options, outbound, findTokens }),
    close: () => closing.abort(),
  };
}

/** @see Shared Signals Framework 1.0 §7.1 */
function configurationOf(issuer: string): object {
  const { origin } = new URL(issuer);
  return {
    spec_version: '1_0',
    issuer,
    jwks_uri: `${origin}/jwks`,
    delivery_methods_supported: [PUSH, POLL],
    ...Object.fromEntries(Object.entries(ENDPOINTS).map(([name, path]) => [name, `${origin}${path}`])),
    authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
    default_subjects: 'ALL',
  };
}

/** Limits the scopes of streams to the receivers, when they act for themselves. */
export function createDecideStreamScopes({ receivers }: SharedSignalsOptions): DecideScopes {
  return async ({ scopes, subject, accountId }) =>
    accountId === null && receivers.some(({ client }) => client === subject.clientId)
      ? scopes.filter((scope) => scope === SSF_READ || scope === SSF_MANAGE)
      : [];
}
