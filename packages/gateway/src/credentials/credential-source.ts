/** Credentials towards backends, as the other parts of the gateway use them. */
import type { Principal } from '@portcullis/resource-server';
import { UserActionRequired } from '../messages/user-action.ts';
import type { CredentialDefinition } from '../servers/credential-options.ts';
import type { GatewayServer } from '../servers/server.ts';

/** What authenticates a request to a backend. Secret. */
export interface BackendCredential {
  /** Replace headers of the same names; empty for a backend without authorization. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * What connections, sessions and catalogues of a backend may be shared by: equal keys mean that the backend sees the same
   * identity. The key of a user's credential also contains the grant, so that two clients of a user share nothing either.
   */
  readonly key: string;
  /** Headers that depend on the request, such as a DPoP proof, in place of those above; `null`: none. @see RFC 9449 §7.1 */
  readonly sign: ((method: string, url: string) => Promise<Readonly<Record<string, string>>>) | null;
}

/** The parts of a backend's response that concern the credential. */
export interface BackendAnswer {
  readonly url: string;
  /** 401 or 403. */
  readonly status: number;
  readonly headers: Headers;
}

/** Provides the credential that a request to a backend is sent with. */
export interface CredentialSource {
  /**
   * The credential for a request; without waiting when it is cached.
   * @throws ConnectionRequired when the user has not connected an account at the backend, or it has ended
   * @throws OAuthError `temporarily_unavailable` when the backend's authorization server cannot be reached, `access_denied` when
   * the credential needs a user and the principal is not one
   */
  for(principal: Principal, server: GatewayServer): BackendCredential | Promise<BackendCredential>;
  /**
   * The backend rejected a credential. `retry`: send the request once more with what `for` returns now. `final`: the
   * response is about something else, or nothing can be done about it.
   * @param credential as `for` returned it
   */
  rejected(
    principal: Principal,
    server: GatewayServer,
    answer: BackendAnswer,
    credential: BackendCredential,
  ): Promise<'retry' | 'final' | ConnectionRequired>;
}

/**
 * The user has to connect an account at the backend before this client can use it. The page is bound to the user and the grant, for
 * single use, and expires.
 */
export class ConnectionRequired extends UserActionRequired {
  override readonly name = 'ConnectionRequired';
  /** Name of the server. */
  readonly server: string;

  constructor(url: string, server: string) {
    const message = `${server} is not connected to your account there yet. Open ${url} to connect it, then try again.`;
    super(message, url, false);
    this.server = server;
  }
}

/** The definition of a server's credential; processes and merged servers have none. */
export function credentialsOfServer({ backend }: Pick<GatewayServer, 'backend'>): CredentialDefinition {
  return backend === null || backend.kind === 'stdio' ? NONE : backend.credentials;
}

const NONE: CredentialDefinition = { as: 'none' };

/** Kinds of credentials that are those of a user. A backend cannot distinguish the users of any other. */
export const USER_CREDENTIALS: ReadonlySet<string> = new Set(['user', 'exchange', 'enterprise']);

/** Nothing is sent. */
export const noCredential: BackendCredential = Object.freeze({ headers: {}, key: '', sign: null });
