/** Protected backends of a gateway, at which users connect accounts: the port that the gateway implements. */
import type { Scopes } from '@portcullis/protocol';
import type { ProviderTokenResponse, ProviderTokenSet } from '../federation/provider/token-set.ts';
import { hashSecret } from '../secrets.ts';

/** The tokens of a user at a backend, with what its client needs to use and refresh them. Secret. */
export interface BackendTokenSet extends ProviderTokenSet {
  /** JSON of the client. */
  readonly session: object;
}

/** A token response of the authorization server of a backend, with what later refreshes need. */
export interface BackendTokenResponse extends ProviderTokenResponse {
  readonly tokens: BackendTokenSet;
}

/** The registrations of this server at the authorization servers of one backend. */
export interface BackendRegistrations {
  list(): Promise<readonly { readonly issuer: string; readonly registration: object }[]>;
  /** @param registration `null` forgets it */
  save(issuer: string, registration: object | null): Promise<void>;
}

/** What a connection to the authorization server of a backend is requested with. */
export interface BackendConnectionRequest {
  /** Each backend has a redirect URI of its own, so that none can respond for another (mix-up attack). */
  readonly redirectUri: string;
  /** Where its client metadata document is published; `null`: not over https, so that no server would accept it. */
  readonly documentUrl: string | null;
  /** Requested besides those that the backend names. */
  readonly scopes: Scopes;
  readonly registrations: BackendRegistrations;
}

/** The redirect of a browser to the authorization server of a backend. */
interface BackendRedirect {
  readonly url: string;
  /** The `state` parameter. */
  readonly state: string;
  /** JSON that `complete` needs. Secret. */
  readonly secrets: object;
}

/** A backend whose users connect an account. Methods that send requests throw `IdentityProviderError`. */
export interface UserBackend {
  /** The path of its server. */
  readonly id: string;
  readonly name: string;
  /** Shown to users. */
  readonly host: string;
  /**
   * Whether one client is configured for it. Otherwise each app gets a registration of its own there: the backend asks the user
   * about each, and servers that keep one grant for each user and client do not end that of another app.
   */
  readonly hasConfiguredClient: boolean;
  begin(request: BackendConnectionRequest): Promise<BackendRedirect>;
  /** Validates the authorization response and redeems its code. */
  complete(secrets: object, response: URLSearchParams): Promise<BackendTokenResponse>;
  /** Whether tokens were issued for this backend: what is configured at its path may have been another server. */
  isIssuerOf(tokens: BackendTokenSet): boolean;
  refresh(tokens: BackendTokenSet): Promise<BackendTokenResponse>;
  /** `unsupported`: its authorization server has no revocation endpoint, or the tokens are not of this backend. */
  revoke(tokens: BackendTokenSet): Promise<'revoked' | 'unsupported'>;
  /** The client metadata document of this server for this backend. */
  clientDocument(documentUrl: string, redirectUri: string): object;
}

/** The backends of a gateway, which may change while it runs. */
export interface UserBackends {
  /** Those that a grant for a resource needs; several for a resource that merges others. */
  of(resource: string): readonly UserBackend[];
  find(id: string): UserBackend | undefined;
}

/** The redirect URI of this server at the authorization server of a backend. */
export function backendRedirectUri(issuer: string, backend: string): string {
  return `${new URL(issuer).origin}/connect/callback${backend}`;
}

/** The URL of the client metadata document of an app for a backend; `null` without https. @param app as `appKeyOf` returns it */
export function backendDocumentUrl(issuer: string, backend: string, app: string): string | null {
  const { origin, protocol } = new URL(issuer);
  return protocol === 'https:' ? `${origin}/connect/client${backend}/~${app}` : null;
}

/** What distinguishes an app at backends; no identifier of ours is revealed there. */
export function appKeyOf(clientId: string): string {
  return hashSecret(clientId).slice(0, 22);
}
