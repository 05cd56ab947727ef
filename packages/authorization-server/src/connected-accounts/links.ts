/** Links to the page that connects an account at a backend: bound to one user, grant and backend, for single use, and expiring. */
import type { Scopes } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createEncryptedJson } from '../encryption/encrypted-json.ts';
import type { GrantRecord } from '../store/index.ts';
import { findLiveGrant } from '../users/administer-connections.ts';
import type { UserBackend, UserBackends } from './backend.ts';

/** What a link says. */
export interface ConnectLink {
  readonly backend: UserBackend;
  /** Live, and of the account that may use the link. */
  readonly grant: GrantRecord;
  /** Requested besides those that the backend names. */
  readonly scopes: Scopes;
}

export type ConnectLinks = ReturnType<typeof createConnectLinks>;

interface LinkContent {
  readonly grantId: string;
  readonly backend: string;
  readonly scopes: Scopes;
  /** The connection that there was: with the next one, the link has been used. */
  readonly connection: string;
  readonly expiresAt: number;
}

/** Seconds for which a link is valid: long enough to read an error and to sign in. */
const LINK_LIFETIME = 1800;
const LINK_CONTEXT = 'backend link';
/** Characters of the longest link. */
const MAX_LINK = 3000;

/** The path of the page. */
export const CONNECT_PATH = '/connect';

/** Nothing is stored: a link is encrypted under the master key, so that no error costs a row and any process opens it. */
export function createConnectLinks(context: ServerContext, backends: UserBackends) {
  const { store, clock, options, encryptor } = context;
  const contents = createEncryptedJson<LinkContent>(encryptor, LINK_CONTEXT, MAX_LINK);
  /** Identifies the connection of a grant at a backend; empty: there has been none. */
  async function connectionOf(grantId: string, backend: string): Promise<string> {
    return (await store.findConnectedAccount({ grantId, backend }))?.connection ?? '';
  }

  return {
    /**
     * The URL of the page at which the user of the grant connects an account: for this user, grant and backend, for single use, and
     * expiring; `null` if the grant is not live.
     * @param scopes that the backend found missing
     */
    async create(grantId: string, backend: string, scopes: Scopes = []): Promise<string | null> {
      if ((await findLiveGrant(context, grantId)) === null) return null;
      const connection = await connectionOf(grantId, backend);
      const expiresAt = clock() + LINK_LIFETIME;
      const link = contents.encrypt({ grantId, backend, scopes, connection, expiresAt });
      return `${new URL(options.issuer).origin}${CONNECT_PATH}?link=${link}`;
    },
    /** `null`: it was changed, used or has expired, or the grant or backend is gone. */
    async open(link: string): Promise<ConnectLink | null> {
      const content = contents.decrypt(link);
      if (content === null || content.expiresAt <= clock()) return null;
      const { grantId, scopes, connection } = content;
      const backend = backends.find(content.backend);
      const grant = await findLiveGrant(context, grantId);
      if (backend === undefined || grant === null) return null;
      return (await connectionOf(grantId, backend.id)) === connection ? { backend, grant, scopes } : null;
    },
  };
}
