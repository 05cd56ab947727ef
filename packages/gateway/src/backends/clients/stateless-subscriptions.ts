/** Serves `subscriptions/listen` of stateless clients from a session at the backend. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import {
  errorCodes,
  errorResponse,
  isMembers,
  type JsonFields,
  type Message,
  parameter,
  type RequestMessage,
  withMeta,
} from '@portcullis/http';
import type { GatewayRequest } from '../../servers/request.ts';
import type { BackendSession } from '../backend.ts';
import { isWithin } from '../exchange/subscriptions.ts';
import { hasCapability, metaKeys, reportedLists } from '../revisions.ts';
import type { Reply } from './reply.ts';

/** @see MCP 2026-07-28, subscriptions */
export async function serveSubscription(
  { outgoing }: GatewayRequest,
  session: BackendSession,
  message: RequestMessage,
  reply: Reply,
): Promise<void> {
  const wanted = parameter(message, 'notifications');
  if (!isMembers(wanted))
    return reply.end(errorResponse(message.id, errorCodes.invalidParams, 'notifications is missing.'), 400);
  const granted = await grant(session, wanted, outgoing);
  const stamp = { [metaKeys.subscriptionId]: message.id };
  const acknowledged: Message = {
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: granted },
  };
  reply.send(withMeta(acknowledged, stamp));
  if (Object.keys(granted).length === 0)
    return reply.end({ jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', _meta: stamp } });
  const stop = session.listen((received) => {
    if (isWanted(received, granted)) reply.send(withMeta(received, stamp));
  });
  // A broken stream, which its client opens again: a result would tell it that the server ends the subscription.
  void session.ended.then(() => reply.end(null));
  // The client may have left while the resources were subscribed to.
  if (!outgoing.destroyed) await new Promise((resolve) => outgoing.once('close', resolve));
  stop();
  await unsubscribe(session, urisOf(granted));
}

/** What the backend can report. The resources are subscribed to one after another, while the client is connected. */
async function grant(
  session: BackendSession,
  wanted: JsonFields,
  outgoing: ServerResponse,
): Promise<JsonFields> {
  const { capabilities } = session.initialized;
  const lists = Object.entries(reportedLists(capabilities)).filter(([name]) => wanted[name] === true);
  const uris: string[] = [];
  if (hasCapability(capabilities, 'resources', 'subscribe'))
    for (const uri of new Set(urisOf(wanted))) {
      if (outgoing.destroyed) break;
      if (await subscribe(session, uri)) uris.push(uri);
    }
  return { ...Object.fromEntries(lists), ...(uris.length > 0 && { resourceSubscriptions: uris }) };
}

function isWanted(message: Message, granted: JsonFields): boolean {
  if (message.method === 'notifications/resources/updated') {
    const uri = parameter(message, 'uri');
    return typeof uri === 'string' && urisOf(granted).some((subscribed) => isWithin(uri, subscribed));
  }
  const [, kind = ''] =
    /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(message.method ?? '') ?? [];
  return granted[`${kind}ListChanged`] === true;
}

function urisOf({ resourceSubscriptions: uris }: JsonFields): readonly string[] {
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
}

/** Subscriptions of the clients that share a session, by URI: the first one that ends leaves those of the others. */
const subscribers = new WeakMap<BackendSession, Map<string, number>>();

/** @returns the subscriptions to a resource, of all clients */
function count(session: BackendSession, uri: string, change: 1 | -1): number {
  const counts = subscribers.get(session) ?? new Map<string, number>();
  subscribers.set(session, counts);
  const left = (counts.get(uri) ?? 0) + change;
  if (left === 0) counts.delete(uri);
  else counts.set(uri, left);
  return left;
}

async function subscribe(session: BackendSession, uri: string): Promise<boolean> {
  // Before the response: another one that ends meanwhile must not end this one.
  count(session, uri, 1);
  const response = await requestOf(session, 'resources/subscribe', uri).catch(() => null);
  const isSubscribed = response !== null && response.error === undefined;
  if (!isSubscribed) count(session, uri, -1);
  return isSubscribed;
}

/** One after another: there may be many. A backend that does not respond gets no more of them. */
async function unsubscribe(session: BackendSession, uris: readonly string[]): Promise<void> {
  let isResponding = true;
  for (const uri of uris)
    if (count(session, uri, -1) === 0 && isResponding)
      isResponding = await requestOf(session, 'resources/unsubscribe', uri).then(
        () => true,
        () => false,
      );
}

function requestOf(session: BackendSession, method: string, uri: string): Promise<Message> {
  const call = { signal: AbortSignal.timeout(30_000) };
  return session.request({ jsonrpc: '2.0', id: randomUUID(), method, params: { uri } }, call);
}
