/** Sessions at a backend: of clients, and of the gateway for its own lists. */
import {
  type BackendAccess,
  type BackendSession,
  type InitializeParams,
  type MessageBackend,
  withNothingSent,
} from './backends/backend.ts';
import { limitSubscriptions } from './backends/exchange/subscriptions.ts';
import { LAST_WITH_SESSIONS, WITH_SESSIONS } from './backends/revisions.ts';
import { type ListedRevisions, ownInitialize } from './catalogue/list-tools.ts';
import type { PassThroughOptions } from './http/pass-through.ts';
import { type OwnedRequest, ownerKey } from './servers/request.ts';
import type { GatewayServer } from './servers/server.ts';

export type BackendSessions = ReturnType<typeof createBackendSessions>;

export function createBackendSessions(
  server: GatewayServer,
  backend: MessageBackend,
  { credentials, onToolsChanged }: Pick<PassThroughOptions, 'credentials' | 'onToolsChanged'>,
) {
  /** The session that each user's client opened last. */
  const opened = new Map<string, BackendSession>();

  return {
    /** A session for a client, also for one of a merged server. @param isShared clients without a token share it */
    async open(
      request: OwnedRequest,
      initialize: InitializeParams,
      isShared = false,
    ): Promise<BackendSession> {
      const session = limitSubscriptions(await openAtBackend(request, initialize, { isShared }));
      session.listen(({ method }) => {
        if (method === 'notifications/tools/list_changed') onToolsChanged();
      });
      const key = ownerKey(request.owner);
      opened.set(key, session);
      void session.ended.then(() => {
        if (opened.get(key) === session) opened.delete(key);
      });
      return session;
    },
    /**
     * Sessions in which the gateway lists tools for the user: that of a client, if there is one, where the newest revision is enough;
     * else own ones, and that of a client last.
     */
    async listSessions(request: OwnedRequest, revisions: ListedRevisions) {
      const session = opened.get(ownerKey(request.owner));
      const known = session === undefined ? [] : [async () => ({ session, isOwn: false })];
      if (known.length > 0 && revisions === 'newest') return known;
      const versions = revisions === 'newest' ? [LAST_WITH_SESSIONS] : [...WITH_SESSIONS].toReversed();
      const own = versions.map((version) => async () => ({
        session: await openAtBackend(request, ownInitialize(version), { isBrief: true }),
        isOwn: true,
      }));
      return [...own, ...known];
    },
  };

  /** Credentials are renewed while a session is open. */
  function openAtBackend(
    { principal, owner }: OwnedRequest,
    initialize: InitializeParams,
    kind: Pick<BackendAccess, 'isBrief' | 'isShared'>,
  ): Promise<BackendSession> {
    const opening = backend.open(owner, initialize, {
      ...kind,
      principal,
      credential: () => credentials.for(principal, server),
      rejected: (answer, credential) => credentials.rejected(principal, server, answer, credential),
    });
    return opening.catch((error) => {
      throw withNothingSent(error);
    });
  }
}
