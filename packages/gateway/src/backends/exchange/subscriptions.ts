/** Subscriptions of a backend's sessions: resource updates, and log messages, for which the backend has one level. */
import {
  errorCodes,
  errorResponse,
  isMembers,
  type Message,
  parameter,
  type RequestMessage,
} from '@portcullis/http';
import { MAX_SUBSCRIPTIONS, MAX_URI_BYTES } from '../../limits.ts';
import type { BackendSession, Call } from '../backend.ts';
import { LOG_LEVELS } from '../revisions.ts';
import type { ExchangeSession } from './pending-requests.ts';

export type Subscriptions = ReturnType<typeof createSubscriptions>;

/** Whether a resource is one, or below one: `file:///notes/a` is below `file:///notes`, and nothing is below `file:`. */
export function isWithin(uri: string, above: string): boolean {
  if (uri === above) return true;
  const folder = above.endsWith('/') ? above : `${above}/`;
  const [root = ''] = /^[^/]*(?:\/\/[^/]*)?/.exec(uri) ?? [];
  return folder.length > root.length && uri.startsWith(folder);
}

/** Closing one session does not affect the subscriptions of another. */
export function createSubscriptions() {
  const subscribers = new Map<string, Set<ExchangeSession>>();

  return {
    /** Records the effect of a request that the backend accepted. */
    learn(session: ExchangeSession, message: Message): void {
      const uri = parameter(message, 'uri');
      if (typeof uri !== 'string') return;
      if (message.method === 'resources/subscribe')
        subscribers.set(uri, (subscribers.get(uri) ?? new Set<ExchangeSession>()).add(session));
      if (message.method === 'resources/unsubscribe') leave(session, uri);
    },
    /**
     * Ends the subscription of a session here.
     * @returns whether another session still has it, and the backend must not be notified
     */
    leavesOthers(session: ExchangeSession, message: Message): boolean {
      const uri = parameter(message, 'uri');
      const known = typeof uri === 'string' ? subscribers.get(uri) : undefined;
      if (message.method !== 'resources/unsubscribe' || known === undefined) return false;
      if (known.size === (known.has(session) ? 1 : 0)) return false;
      known.delete(session);
      return true;
    },
    /** Whether a session has subscribed to a resource, or to one above it. */
    includes: (session: ExchangeSession, uri: unknown): boolean =>
      typeof uri === 'string' &&
      [...subscribers].some(([subscribed, known]) => known.has(session) && isWithin(uri, subscribed)),
    /** Removes a session. @returns the resources that no session is subscribed to any more */
    release: (session: ExchangeSession): readonly string[] =>
      [...subscribers].flatMap(([uri, known]) => (known.has(session) && leave(session, uri) ? [uri] : [])),
    size: (): number => subscribers.size,
  };

  /** Whether the session was the last one. */
  function leave(session: ExchangeSession, uri: string): boolean {
    const known = subscribers.get(uri);
    known?.delete(session);
    return known?.size === 0 && subscribers.delete(uri);
  }
}

/** Limits the subscriptions of a session: their URIs are retained, and sent again with each change to a stateless backend. */
export function limitSubscriptions(session: BackendSession): BackendSession {
  const accepted = new Set<string>();
  /** With those that are pending. */
  const total = { uris: 0, bytes: 0 };

  return {
    initialized: session.initialized,
    ended: session.ended,
    request(message, call) {
      if (message.method === 'resources/subscribe') return subscribe(message, call);
      if (message.method === 'resources/unsubscribe') return unsubscribe(message, call);
      return session.request(message, call);
    },
    notify: (message, sender) => session.notify(message, sender),
    listen: (receive) => session.listen(receive),
    close: () => session.close(),
  };

  function count(uri: string, change: 1 | -1): void {
    total.uris += change;
    total.bytes += change * Buffer.byteLength(uri);
  }

  async function subscribe(message: RequestMessage, call: Call): Promise<Message> {
    const uri = String(parameter(message, 'uri'));
    count(uri, 1);
    try {
      const isOver = total.uris > MAX_SUBSCRIPTIONS || total.bytes > MAX_URI_BYTES;
      if (isOver && !accepted.has(uri)) return errorResponse(message.id, errorCodes.unavailable, TOO_MANY);
      const response = await session.request(message, call);
      if (response.error !== undefined || accepted.has(uri)) return response;
      accepted.add(uri);
      count(uri, 1);
      return response;
    } finally {
      count(uri, -1);
    }
  }

  async function unsubscribe(message: RequestMessage, call: Call): Promise<Message> {
    const uri = String(parameter(message, 'uri'));
    const response = await session.request(message, call);
    if (response.error === undefined && accepted.delete(uri)) count(uri, -1);
    return response;
  }
}

const TOO_MANY = `This session has too many subscriptions: ${MAX_SUBSCRIPTIONS} are possible, with URIs of ${MAX_URI_BYTES / 1024} KiB together.`;

export type LogLevels = ReturnType<typeof createLogLevels>;

/** The level of sessions that have not set one, while others have. */
const DEFAULT = LOG_LEVELS.indexOf('info');

export function createLogLevels(sessions: ReadonlySet<ExchangeSession>) {
  const levels = new Map<ExchangeSession, number>();
  const levelOf = (session: ExchangeSession): number => levels.get(session) ?? DEFAULT;
  return {
    /** Records the level of a session. @returns the request for the backend, with the most detailed level of any session */
    set(session: ExchangeSession, message: RequestMessage): RequestMessage {
      const level = LOG_LEVELS.indexOf(parameter(message, 'level'));
      // The backend responds with the error.
      if (level === -1 || !isMembers(message.params)) return message;
      for (const one of levels.keys()) if (!sessions.has(one)) levels.delete(one);
      levels.set(session, level);
      const most = Math.min(...Array.from(sessions, levelOf));
      return { ...message, params: { ...message.params, level: LOG_LEVELS[most] } };
    },
    /** Whether a session's level includes a message. */
    includes(session: ExchangeSession, message: Message): boolean {
      if (levels.size === 0 || message.method !== 'notifications/message') return true;
      const level = LOG_LEVELS.indexOf(parameter(message, 'level'));
      return level === -1 || level >= levelOf(session);
    },
  };
}
