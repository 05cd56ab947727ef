/** The client sessions that this process serves. Any process reopens a session from its sealed ID, unless it was deleted here. */
import { createLruCache } from '@portcullis/protocol';
import { createGauge } from '../../gauge.ts';
import {
  MAX_DELETED_SESSIONS,
  MAX_EVENT_CHARACTERS_OF_USER,
  MAX_SESSIONS,
  MAX_SESSIONS_OF_USER,
  SESSION_IDLE,
  SESSION_SWEEP,
} from '../../limits.ts';
import { invalidRequest, sessionNotFound } from '../../messages/gateway-error.ts';
import type { GatewayRequest } from '../../servers/request.ts';
import { anonymousOwnerOf, type Owner, ownerKey, userKey } from '../../servers/request.ts';
import type { Sealer } from '../../sessions/sealer.ts';
import type { BackendSession, InitializeParams } from '../backend.ts';
import { createIdlePool } from '../idle-pool.ts';
import { WITH_SESSIONS } from '../revisions.ts';
import { createLiveSession, isOver, type LiveSession } from './live-session.ts';

/** Opens a session at the backend. @param isShared clients without a token share it */
export type OpenBackend = (
  request: GatewayRequest,
  initialize: InitializeParams,
  isShared?: boolean,
) => Promise<BackendSession>;

export type SessionTable = ReturnType<typeof createSessionTable>;

export function createSessionTable(sealer: Sealer, openBackend: OpenBackend) {
  const live = createPool();
  /** Characters of the events that are retained for all sessions of each user. */
  const memory = createGauge(() => MAX_EVENT_CHARACTERS_OF_USER);
  const deleted = createLruCache<true>({ entries: MAX_DELETED_SESSIONS });
  /** Ends a session in this process. */
  const end = (session: LiveSession): void => void live.end(session.id);

  return {
    /** The session of a request. @throws GatewayError when it names none */
    find(request: GatewayRequest): LiveSession {
      const { incoming, owner } = request;
      const version = incoming.headers['mcp-protocol-version'];
      const supported = [...WITH_SESSIONS].join(', ');
      if (typeof version === 'string' && !WITH_SESSIONS.has(version))
        throw invalidRequest(
          400,
          `The revision ${JSON.stringify(version)} is not supported here; supported: ${supported}.`,
        );
      const sealed = incoming.headers['mcp-session-id'];
      if (typeof sealed !== 'string') throw invalidRequest(400, 'The header Mcp-Session-Id is missing.');
      const [id, params] = openSession(sealer, owner, sealed) ?? [];
      if (id === undefined || params === undefined || deleted.get(id) === true) throw sessionNotFound();
      const session = findLive(request, id) ?? open(request, id, params);
      session.usedAt = performance.now();
      return session;
    },
    open,
    /** The session's ID for its client. */
    seal: ({ owner }: GatewayRequest, { id, initialize }: LiveSession): string =>
      sealer.seal('session', owner, JSON.stringify([id, initialize])),
    end,
    /** Deletes a session. */
    delete(session: LiveSession): void {
      deleted.set(session.id, true);
      end(session);
    },
    close: live.close,
  };

  /** A session opened for an earlier grant of the same user and client would use that grant's credentials: it is reopened. */
  function findLive({ principal }: GatewayRequest, id: string): LiveSession | undefined {
    const found = live.get(id);
    if (found === undefined || found.grantId === principal.grantId || found.requests.size > 0) return found;
    end(found);
    return undefined;
  }

  /** @throws BackendError `overloaded` */
  function open(request: GatewayRequest, id: string, initialize: InitializeParams): LiveSession {
    const user = userKey(request.owner);
    const { grantId } = request.principal;
    return live.add(id, user, () =>
      createLiveSession({ id, user, grantId, initialize }, () => openBackend(request, initialize), memory),
    );
  }
}

function createPool() {
  return createIdlePool<LiveSession>({
    limits: { entries: MAX_SESSIONS, perUser: MAX_SESSIONS_OF_USER, idle: SESSION_IDLE },
    interval: SESSION_SWEEP,
    overloaded: () => 'There are too many open sessions.',
    onSweep(sessions) {
      for (const session of sessions) session.events.sweep((stream) => isOver(session, stream));
    },
  });
}

/**
 * Opens the ID of a session of its owner, or of one that was opened without a token: its user continues it with a backend
 * session of their own. @returns `null` for any other
 */
export function openSession(
  sealer: Sealer,
  owner: Owner,
  sealed: string,
): readonly [id: string, initialize: InitializeParams] | null {
  const own = sealer.open('session', owner, sealed);
  const opened = own ?? sealer.open('session', anonymousOwnerOf(owner), sealed);
  if (opened === null || !opened.startsWith('[')) return null;
  const [id, initialize] = JSON.parse(opened) as [string, InitializeParams];
  return [own === null ? `${id} ${ownerKey(owner)}` : id, initialize];
}
