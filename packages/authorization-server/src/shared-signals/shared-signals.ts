/** Receives security events of identity providers (Shared Signals Framework): pushed to an endpoint, or polled. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpRequest, type HttpResponse, readRawBody, respond } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import { createIssuerKeys } from '../assertions/issuer-keys.ts';
import { endUserAccess } from '../federation/end-user-access.ts';
import type {
  FederationContext,
  IdentityProvider,
  SharedSignals,
} from '../federation/provider/identity-provider.ts';
import type { Route } from '../http/router.ts';
import { effectOf, STREAM_UPDATED, VERIFICATION } from './effects.ts';
import { type SecurityEvent, SecurityEventError, verifySecurityEventToken } from './security-event-token.ts';
import { findSubject } from './subject.ts';
import {
  createTransmitter,
  type EventStream,
  type PollAcknowledgement,
  type Transmitter,
} from './transmitter.ts';

/** The receiver of all identity providers with `sharedSignals`. */
export interface SharedSignalsReceiver {
  readonly routes: readonly Route[];
  /** Stops to poll. */
  close(): Promise<void>;
}

/** One identity provider whose events are received. */
interface Receiver {
  readonly identityProvider: IdentityProvider;
  readonly settings: SharedSignals;
  readonly transmitter: Transmitter;
  /** The state of the last verification that this process requested. */
  readonly verificationState: string;
  /** `null`: not known yet. */
  stream: Promise<EventStream> | null;
}

/** Milliseconds between looks at a stream that pushes. */
const STREAM_INTERVAL = 600_000;
/** Milliseconds after a poll that brought nothing new. */
const POLL_INTERVAL = 1_000;
/** Milliseconds until the next attempt, by failures in a row. */
const BACKOFF = [1_000, 5_000, 15_000];
const LONGEST_BACKOFF = 60_000;

export function createSharedSignals(context: FederationContext): SharedSignalsReceiver {
  const findKeys = createIssuerKeys(context);
  const { issuer, identityProviders } = context.options;
  const receivers = [...identityProviders.values()].flatMap((identityProvider) => {
    const { id, sharedSignals: settings } = identityProvider;
    if (settings === null) return [];
    const transmitter = createTransmitter(
      context,
      identityProvider,
      settings,
      `${new URL(issuer).origin}${pathOf(id)}`,
    );
    const verificationState = randomUUID();
    return { identityProvider, settings, transmitter, verificationState, stream: null } satisfies Receiver;
  });
  const accept = async (receiver: Receiver, token: string): Promise<void> => {
    const { settings, transmitter } = receiver;
    const rules = {
      issuer: settings.transmitter,
      jwksUri: await transmitter.jwksUri().catch(unavailable),
      audience: settings.audience ?? (await streamOf(receiver).catch(unavailable)).audience,
      now: context.clock(),
    };
    const { issuedAt, events } = await verifySecurityEventToken(token, rules, findKeys);
    for (const event of events) await act(context, receiver, event, issuedAt);
  };
  const closing = new AbortController();
  const running = receivers
    .filter(({ settings: { token, client } }) => token !== null || client !== null)
    .map((receiver) => keepReceiving(context, receiver, accept, closing.signal));
  return {
    routes: receivers
      .filter(({ settings }) => settings.delivery === 'push')
      .map((receiver) => ({
        method: 'POST',
        path: pathOf(receiver.identityProvider.id),
        handle: (request) => receivePush(request, (token) => accept(receiver, token)),
      })),
    async close() {
      closing.abort();
      await Promise.all(running);
    },
  };
}

const pathOf = (id: string) => `/shared-signals/${id}`;

/** The stream of this receiver, which any process may have created. Concurrent callers share one request. */
function streamOf(receiver: Receiver): Promise<EventStream> {
  const { transmitter } = receiver;
  receiver.stream ??= transmitter.findStream().catch((error: unknown) => {
    receiver.stream = null;
    throw error;
  });
  return receiver.stream;
}

function unavailable(error: unknown): never {
  const reason = `shared signals: ${error instanceof Error ? error.message : 'no response'}`;
  throw new OAuthError('temporarily_unavailable', 'The transmitter is unavailable.', {
    reason,
    retryAfter: 5,
  });
}

/** @see RFC 8935 §2.2 to §2.4 */
async function receivePush(
  request: HttpRequest,
  accept: (token: string) => Promise<void>,
): Promise<HttpResponse> {
  try {
    await accept(await readRawBody(request, 'application/secevent+jwt'));
    return respond(202, { 'cache-control': 'no-store' });
  } catch (error) {
    const { code: err, message: description } = toRejection(error);
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
    return respond(400, headers, JSON.stringify({ err, description }));
  }
}

/** @throws what is not about the token */
function toRejection(error: unknown): Pick<SecurityEventError, 'code' | 'message'> {
  if (error instanceof SecurityEventError) return error;
  if (error instanceof OAuthError && error.code === 'invalid_request')
    return new SecurityEventError('invalid_request', error.message);
  throw error;
}

/** Ends what the event names, here and at once. */
async function act(
  context: FederationContext,
  { identityProvider, verificationState }: Receiver,
  { type, subject, details }: SecurityEvent,
  issuedAt: number,
): Promise<void> {
  const { store, events } = context;
  const { id } = identityProvider;
  if (type === VERIFICATION) {
    if (details['state'] === verificationState)
      events({ type: 'security_event_stream.verified', identityProvider: id });
    return;
  }
  if (type === STREAM_UPDATED) {
    const status = String(details['status']).slice(0, 40);
    return events({ type: 'security_event_stream.updated', identityProvider: id, status });
  }
  const found = await findSubject(store, identityProvider, subject);
  const effect = effectOf(type, details);
  const isKnown = found.accountId !== null || found.sessionId !== null;
  events({
    type: 'security_event.received',
    identityProvider: id,
    securityEvent: type.slice(-100),
    outcome: effect === null ? 'ignored' : isKnown ? 'applied' : 'unknown_subject',
    ...(found.accountId !== null && { accountId: found.accountId }),
  });
  if (effect === null || !isKnown) return;
  const what = found.sessionId === null ? effect : 'sessions';
  await endUserAccess(context, identityProvider, { ...found, reportedAt: issuedAt }, what);
}

/** Finds or creates the stream, verifies it, and polls it unless it pushes; a failure is reported once. */
async function keepReceiving(
  { events }: FederationContext,
  receiver: Receiver,
  accept: (receiver: Receiver, token: string) => Promise<void>,
  closing: AbortSignal,
): Promise<void> {
  const { identityProvider, settings, transmitter, verificationState } = receiver;
  let failures = 0;
  let isVerified = false;
  let reported: PollAcknowledgement = { ack: [], setErrs: {} };
  while (!closing.aborted) {
    let delay = STREAM_INTERVAL;
    try {
      // A stream that pushes may have been removed at the transmitter; polling notices that by itself.
      if (settings.delivery === 'push') receiver.stream = null;
      const stream = await streamOf(receiver);
      if (!isVerified) await transmitter.verify(stream, verificationState);
      isVerified = true;
      if (stream.pollUrl !== null) {
        const tokens = await transmitter.poll(stream.pollUrl, reported, closing);
        const before = new Set(reported.ack);
        reported = await acceptAll(tokens, (token) => accept(receiver, token));
        // What is sent again although it was acknowledged, and more that never comes, must not keep this process busy.
        delay = reported.ack.some((id) => !before.has(id)) ? 0 : POLL_INTERVAL;
      }
      failures = 0;
    } catch (error) {
      receiver.stream = null;
      delay = BACKOFF[failures] ?? LONGEST_BACKOFF;
      const reason = error instanceof Error ? error.message : 'no response';
      if (failures === 0 && !closing.aborted)
        events({ type: 'security_event_stream.failed', identityProvider: identityProvider.id, reason });
      failures += 1;
    }
    await sleep(delay, undefined, { signal: closing, ref: false }).catch(() => undefined);
  }
}

/** A token is acknowledged once it has taken effect; one whose keys or store are unavailable is sent again. @see RFC 8936 §2.4 */
async function acceptAll(
  tokens: Readonly<Record<string, unknown>>,
  accept: (token: string) => Promise<void>,
): Promise<PollAcknowledgement> {
  const ack: string[] = [];
  const setErrs: Record<string, { err: string; description: string }> = {};
  for (const [id, token] of Object.entries(tokens)) {
    try {
      await accept(String(token));
      ack.push(id);
    } catch (error) {
      if (error instanceof SecurityEventError) setErrs[id] = { err: error.code, description: error.message };
    }
  }
  return { ack, setErrs };
}
