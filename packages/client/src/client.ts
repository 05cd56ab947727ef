/** The client of one protected server: all its rooms put together. */
import type { Scopes } from '@portcullis/protocol';
import { createAuthorizationCodeGrant } from './authorization/authorization-code.ts';
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
import { createAuthorizedFetch } from './tokens/authorized-fetch.ts';
import { createObtainer } from './tokens/obtainer.ts';
import { createRefresher } from './tokens/refresher.ts';
import { describeSession, type Session } from './tokens/session.ts';
import { createSessionRevocation } from './tokens/session-revocation.ts';
import { createTokenManager } from './tokens/token-manager.ts';
import { type BeginOptions, beginSignIn, completeSignIn } from './tokens/two-halves.ts';
import type { Fetch, Transport } from './transport.ts';

/** How a sign-in is asked for. */
export interface SignInOptions {
  /** Sent as `prompt`, for example `select_account`. */
  readonly prompt?: string;
  /** Asked for beside what the session has; `confirmStepUp` may decline. */
  readonly scopes?: Scopes;
  /** Registers the client anew, when a page of the authorization server says that it does not know it; tokens stay. */
  readonly newRegistration?: boolean;
}

/** A client of one server, for one account. */
export interface Client {
  /** Canonical URL of the server. */
  readonly server: string;
  /** What to say under `extensions` in the client capabilities of each request, because of the grant. */
  readonly extensions: Readonly<Record<string, object>>;
  /** As the platform's `fetch`, with an access token for this server. Signs in, refreshes and steps up as needed. */
  readonly fetch: Fetch;
  /** What can be found out about the server's authorization. */
  discover(): Promise<DiscoveryResult>;
  /** The session that stands, without asking anybody; `null` when there is none. */
  session(): Promise<Session | null>;
  /** Signs in now, with the browser and receiver of the options. */
  signIn(options?: SignInOptions): Promise<Session>;
  /** First half of a sign-in with pages of one's own: where to send the browser. */
  begin(options: BeginOptions): Promise<string>;
  /** Second half: the whole URL at which the browser arrived, or its query. */
  complete(redirectedTo: string | URLSearchParams, binding?: string): Promise<Session>;
  /** An access token that is good now, for hosts that have to send it themselves; `null` when there is no session. */
  accessToken(): Promise<string | null>;
  /** Revokes the tokens where that is possible, and forgets them. Tells whether the server took it. */
  signOut(): Promise<'revoked' | 'forgotten' | 'no_session'>;
}

/**
 * Makes the client of a server.
 * @throws ClientError `server_url_invalid` or `configuration_invalid`, with every fault.
 */
export function createClient(options: ClientOptions): Client {
  const configuration = resolveClientOptions(options);
  const { server, account, store } = configuration;
  const rooms = createRooms(configuration);
  const { finder, registry, access, ending, tokenHands } = rooms;

  return {
    server,
    extensions: extensionsOf(configuration.grant),
    fetch: createAuthorizedFetch(configuration, access, tokenHands),
    discover: finder.discover,
    session,
    async signIn({ prompt, scopes, newRegistration } = {}) {
      if (newRegistration) await forgetRegistrations();
      const found = await finder.requestChallenge();
      const challenge = scopes === undefined ? found : { ...found, scopes };
      const standing = scopes === undefined ? null : ((await access.record())?.tokens ?? null);
      if (standing === null) await access.obtain(challenge, prompt ?? null);
      else await access.stepUp(standing, challenge);
      return requireSession();
    },
    begin: (begin) => beginSignIn(rooms, begin),
    async complete(redirectedTo, binding) {
      requireUser();
      await completeSignIn(rooms, redirectedTo, binding ?? null);
      return requireSession();
    },
    accessToken: async () => (await access.current())?.accessToken ?? null,
    async signOut() {
      const ended = await access.end();
      if (ended === null) return 'no_session';
      return (await ending.revoke(ended)) ? 'revoked' : 'forgotten';
    },
  };

  /** What a person has signed in for must not be kept as a program's. */
  function requireUser(): void {
    if (!isMachineGrant(configuration.grant)) return;
    const why = `A sign-in in two halves is a person's, and the grant is ${configuration.grant.kind}`;
    throw new ClientError('configuration_invalid', `${why}.`);
  }

  async function forgetRegistrations(): Promise<void> {
    for (const { key } of await store.list(server, account))
      await registry.discard(key, 'a new registration was asked for');
  }

  async function session(): Promise<Session | null> {
    const record = await access.record();
    return record === null ? null : describeSession(record, store.location);
  }

  async function requireSession(): Promise<Session> {
    const standing = await session();
    if (standing === null) throw new TypeError('Tokens were kept, and the store does not have them.');
    return standing;
  }
}

/** Makes each room of a client from those above it. */
function createRooms(configuration: ClientSettings) {
  const { clock, sleep, limits, registration: settings } = configuration;
  const transport: Transport = {
    fetch: configuration.oauthFetch,
    timeout: limits.timeout,
    maxBytes: limits.maxBytes,
    mapError: configuration.mapFetchError,
  };
  const prover = createClientContext({
    clock,
    signingKeyFor: (clientId) => signingKeyFor(settings, clientId),
  });
  const tokenHands: TokenEndpointContext = { ...prover, transport, sleep };
  const finder = createServerDiscovery(configuration, transport);
  const registry = createStoredRegistrations(configuration, transport);
  const signIn = createAuthorizationCodeGrant(configuration, tokenHands, registry);
  const refresher = createRefresher(configuration, tokenHands, registry.forTokens);
  const obtainer = createObtainer(configuration, { finder, registry, signIn, tokens: tokenHands });
  const ending = createSessionRevocation(configuration, { finder, registry, tokens: tokenHands });
  const { endReplaced } = ending;
  const access = createTokenManager(configuration, { obtainer, refresher, endReplaced });
  return { tokenHands, finder, registry, signIn, obtainer, ending, access };
}
