/** The client of one protected server: creates its services and offers them as one interface. */
import type { Scopes } from '@portcullis/protocol';
import { createCodeGrant } from './authorization/authorization-code.ts';
import { extensionsOf, isMachineGrant } from './authorization/grant-settings.ts';
import type { DiscoveryResult } from './discovery/discovery-result.ts';
import { createServerDiscovery } from './discovery/server-discovery.ts';
import { ClientError } from './errors.ts';
import type { ClientOptions } from './options.ts';
import { signingKeyFor } from './registration/registration.ts';
import { createStoredRegistrations } from './registration/stored-registrations.ts';
import { type ClientSettings, resolveClientOptions } from './settings.ts';
import { createClientContext } from './token-endpoint/client-context.ts';
import type { TokenEndpointContext } from './token-endpoint/endpoint-request.ts';
import { isExpired } from './token-endpoint/token-response.ts';
import { createAuthorizedFetch } from './tokens/authorized-fetch.ts';
import { type BeginOptions, beginSignIn, completeSignIn } from './tokens/begin-complete.ts';
import { createRefresh } from './tokens/refresh.ts';
import { describeSession, type Session } from './tokens/session.ts';
import { createSessionRevocation } from './tokens/session-revocation.ts';
import { createStoredTokens } from './tokens/stored-tokens.ts';
import { createTokenManager } from './tokens/token-manager.ts';
import { createTokenSource } from './tokens/token-source.ts';
import type { Fetch, Transport } from './transport.ts';

/** Options of a sign-in. */
interface SignInOptions {
  /** Value of the `prompt` parameter, for example `select_account`. */
  readonly prompt?: string;
  /** Requested in addition to those of the session; `confirmStepUp` may decline. */
  readonly scopes?: Scopes;
  /** Replaces the client registration, for when the authorization server's page says that it is unknown, without removing tokens. */
  readonly newRegistration?: boolean;
  /**
   * The program signs in, not the user. Then tokens that another process has obtained meanwhile are used, and a server
   * whose metadata is missing is refused while there are credentials of another issuer.
   */
  readonly automatic?: boolean;
}

/** A client of one server, for one account. */
export interface Client {
  /** Canonical URL of the server. */
  readonly server: string;
  /** What to declare under `extensions` in the client capabilities of each request, because of the grant. */
  readonly extensions: Readonly<Record<string, object>>;
  /**
   * Like the platform's `fetch`, with an access token for this server and the URLs below the path of its resource (see
   * `sendTokenTo`); other URLs are requested without. Signs in, refreshes and steps up as needed.
   * @throws ClientError when no access token can be obtained, for example `sign_in_needed`
   * @see RFC 6750 §2.1, RFC 9449 §7.1
   */
  readonly fetch: Fetch;
  /**
   * As `fetch`, for requests that no user waits for, such as a stream of messages of the server: does not sign a user in, nor
   * step up.
   * @throws ClientError `sign_in_needed` where `fetch` would sign the user in
   */
  readonly fetchInBackground: Fetch;
  /**
   * Discovers the authorization server and the revision of the server.
   * @throws ClientError `unreachable`, `metadata_missing`, `metadata_invalid`, `resource_mismatch`, `issuer_mismatch` or
   * `endpoint_refused`
   * @see RFC 9728 §3, RFC 8414 §3
   */
  discover(): Promise<DiscoveryResult>;
  /** The current session, without any request; `null` when there is none. */
  session(): Promise<Session | null>;
  /**
   * Signs in now with the grant of the options; a user, with its browser and receiver.
   * @throws ClientError as `discover`, and `registration_needed`, `authorization_denied`, `authorization_failed`, `cancelled` or
   * `token_refused`
   * @see RFC 6749 §4.1, RFC 7636 §4
   */
  signIn(options?: SignInOptions): Promise<Session>;
  /**
   * First step of a sign-in with the host's own pages: the URL for the browser.
   * @throws ClientError as `discover`, and `registration_needed` or `pkce_unsupported`
   * @see RFC 6749 §4.1.1
   */
  begin(options: BeginOptions): Promise<string>;
  /**
   * Second step: validates the authorization response, redeems the code and saves the tokens. Only a client of the same
   * server and account as in the first step can complete it.
   * @param redirectedTo the complete redirect URL, or its query
   * @param binding as passed to `begin`
   * @throws ClientError `response_rejected`, `authorization_denied`, `authorization_failed`, `token_refused`,
   * `token_response_invalid`, or `configuration_invalid` when the grant has no user or the client of the first step is no longer
   * configured
   * @see RFC 6749 §4.1.3, RFC 9207 §2.4
   */
  complete(redirectedTo: string | URLSearchParams, binding?: string): Promise<Session>;
  /**
   * From now on, requests bearer tokens where the server accepts them, for hosts that send tokens themselves. `accessToken`
   * then replaces a bound token, if the authorization server can: Portcullis does.
   */
  preferBearer(): void;
  /**
   * A valid access token, for hosts that send it themselves; `null` when there is no session. A bound one is useless without
   * its key: see `preferBearer` and `scheme` of the session. @throws ClientError
   */
  accessToken(): Promise<string | null>;
  /**
   * Removes the stored tokens, and revokes them where possible. `expired`: an access token without a refresh token had ended by
   * itself. `forgotten`: removed, but not revoked at the server.
   * @see RFC 7009 §2.1
   */
  signOut(): Promise<'revoked' | 'expired' | 'forgotten' | 'no_session'>;
}

/**
 * Creates the client of a server.
 * @throws ClientError `server_url_invalid` or `configuration_invalid`, with every issue.
 * @see RFC 6749 §1.1, RFC 9728 §5
 * @example
 * ```ts
 * import { createClient, createMemoryStore } from '@portcullis/client';
 *
 * const client = createClient({ serverUrl: 'https://mcp.example/mcp', store: createMemoryStore() });
 * console.log(await client.session()); // null
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const settings = resolveClientOptions(options);
  const { server, account, store, grant } = settings;
  const services = createServices(settings);
  const { endpoint, discovery, registrations, stored, tokens, revocation } = services;

  return {
    server,
    extensions: extensionsOf(grant),
    fetch: createAuthorizedFetch(settings, tokens, endpoint),
    fetchInBackground: createAuthorizedFetch(settings, tokens, endpoint, isMachineGrant(grant)),
    discover: discovery.discover,
    session,
    async signIn({ prompt, scopes, newRegistration, automatic } = {}) {
      if (newRegistration) await discardRegistrations();
      const received = await discovery.requestChallenge();
      const challenge = scopes === undefined ? received : { ...received, scopes };
      const current = scopes === undefined ? null : ((await stored.record())?.tokens ?? null);
      if (!automatic) tokens.forgetFailure();
      if (current !== null) await tokens.stepUp(current, challenge);
      else if (automatic) await tokens.renew(null, challenge, { mayRefresh: true, maySignIn: true });
      else await tokens.obtain(challenge, prompt ?? null);
      return requireSession();
    },
    begin: (begin) => beginSignIn(services, begin),
    async complete(redirectedTo, binding) {
      requireUserGrant();
      await completeSignIn(services, redirectedTo, binding ?? null);
      return requireSession();
    },
    preferBearer: services.source.preferBearer,
    async accessToken() {
      const current = await (services.source.prefersBearer() ? tokens.unbound() : tokens.current());
      return current?.accessToken ?? null;
    },
    async signOut() {
      const removed = await stored.remove();
      if (removed === null) return 'no_session';
      // A program's token: without its secret nothing could be revoked, and there is nothing to revoke.
      const { tokens: old } = removed;
      if (old !== null && old.refreshToken === null && isExpired(old, settings.clock())) return 'expired';
      return (await revocation.revoke(removed)) ? 'revoked' : 'forgotten';
    },
  };

  /** A user's tokens must not be stored as a program's. */
  function requireUserGrant(): void {
    if (!isMachineGrant(grant)) return;
    throw new ClientError(
      'configuration_invalid',
      `begin() and complete() need a user grant, but the grant is ${grant.kind}.`,
    );
  }

  async function discardRegistrations(): Promise<void> {
    for (const { key } of await store.list(server, account))
      await registrations.discard(key, 'a new registration was requested');
  }

  async function session(): Promise<Session | null> {
    const record = await stored.record();
    return record === null ? null : describeSession(record, store.location);
  }

  async function requireSession(): Promise<Session> {
    const current = await session();
    if (current === null) throw new TypeError('The store does not return the tokens that were saved.');
    return current;
  }
}

/** Creates the services of a client in the order of their dependencies. */
function createServices(settings: ClientSettings) {
  const { clock, sleep, limits, registration } = settings;
  const transport: Transport = {
    fetch: settings.oauthFetch,
    timeout: limits.timeout,
    maxBytes: limits.maxBytes,
    mapError: settings.mapFetchError,
  };
  const context = createClientContext({
    clock,
    signingKeyFor: (clientId, issuer) => signingKeyFor(registration, clientId, issuer),
  });
  const endpoint: TokenEndpointContext = { ...context, transport, sleep };
  const discovery = createServerDiscovery(settings, transport);
  const registrations = createStoredRegistrations(settings, transport);
  const codeGrant = createCodeGrant(settings, endpoint, registrations);
  const source = createTokenSource(settings, { discovery, registrations, codeGrant, endpoint });
  const stored = createStoredTokens(settings);
  const revocation = createSessionRevocation(settings, discovery, registrations, endpoint);
  const refresh = createRefresh(settings, endpoint, { registrations, stored, revocation });
  const tokens = createTokenManager(settings, { stored, refresh, source, revocation });
  return { endpoint, discovery, registrations, codeGrant, source, stored, tokens, revocation };
}
