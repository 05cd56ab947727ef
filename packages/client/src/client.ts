/** The client of one protected server: all its rooms put together. */
import type { Scopes } from '@portcullis/protocol';
import { createSignIn } from './authorization/sign-in.ts';
import { createAuthorizedFetch } from './calls/authorized-fetch.ts';
import { type Configuration, defineConfiguration } from './configuration.ts';
import type { Discovery } from './discovery/conclude.ts';
import { createFinder } from './discovery/finder.ts';
import { ClientError } from './errors.ts';
import { actsAlone, extensionsOf } from './grants/settings.ts';
import type { ClientOptions } from './options.ts';
import { signingKeyOf } from './registration/registration.ts';
import { createRegistry } from './registry/registry.ts';
import { createAccess } from './session/access.ts';
import { createEnding } from './session/ending.ts';
import { createObtainer } from './session/obtainer.ts';
import { createRefresher } from './session/refresher.ts';
import { describeSession, type Session } from './session/session.ts';
import { type BeginOptions, beginSignIn, completeSignIn } from './session/two-halves.ts';
import { createProver } from './tokens/prover.ts';
import type { TokenHands } from './tokens/token-endpoint.ts';
import type { Fetch, Wire } from './transport.ts';

/** How a sign-in is asked for. */
export interface SignInOptions {
  /** Sent as `prompt`, for example `select_account`. */
  readonly prompt?: string;
  /** Asked for beside what the session has; `confirmStepUp` may decline. */
  readonly scopes?: Scopes;
  /** Registers the client anew, when a page of the authorization server says that it does not know it; tokens stay. */
  readonly registerAnew?: boolean;
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
  discover(): Promise<Discovery>;
  /** The session that stands, without asking anybody; `null` when there is none. */
  session(): Promise<Session | null>;
  /** Signs in now, with the browser and receiver of the options. */
  signIn(options?: SignInOptions): Promise<Session>;
  /** First half of a sign-in with pages of one's own: where to send the browser. */
  begin(options: BeginOptions): Promise<string>;
  /** Second half: the whole URL at which the browser arrived, or its query. */
  complete(arrived: string | URLSearchParams, binding?: string): Promise<Session>;
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
  const configuration = defineConfiguration(options);
  const { server, account, store } = configuration;
  const rooms = createRooms(configuration);
  const { finder, registry, access, ending, tokenHands } = rooms;

  return {
    server,
    extensions: extensionsOf(configuration.grant),
    fetch: createAuthorizedFetch(configuration, access, tokenHands),
    discover: finder.findNow,
    session,
    async signIn({ prompt, scopes, registerAnew } = {}) {
      if (registerAnew) await forgetRegistrations();
      const found = await finder.provoke();
      const challenge = scopes === undefined ? found : { ...found, scopes };
      const standing = scopes === undefined ? null : ((await access.record())?.tokens ?? null);
      if (standing === null) await access.obtain(challenge, prompt ?? null);
      else await access.stepUp(standing, challenge);
      return requireSession();
    },
    begin: (begin) => beginSignIn(rooms, begin),
    async complete(arrived, binding) {
      requireUser();
      await completeSignIn(rooms, arrived, binding ?? null);
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
    if (!actsAlone(configuration.grant)) return;
    const why = `A sign-in in two halves is a person's, and the grant is ${configuration.grant.kind}`;
    throw new ClientError('configuration_invalid', `${why}.`);
  }

  async function forgetRegistrations(): Promise<void> {
    for (const { key } of await store.list(server, account))
      await registry.dropDead(key, 'a new registration was asked for');
  }

  async function session(): Promise<Session | null> {
    const record = await access.record();
    return record === null ? null : describeSession(record, store.place);
  }

  async function requireSession(): Promise<Session> {
    const standing = await session();
    if (standing === null) throw new TypeError('Tokens were kept, and the store does not have them.');
    return standing;
  }
}

/** Makes each room of a client from those above it. */
function createRooms(configuration: Configuration) {
  const { clock, sleep, limits, registration: settings } = configuration;
  const wire: Wire = {
    fetch: configuration.oauthFetch,
    timeout: limits.timeout,
    limit: limits.bytes,
    explain: configuration.explainFailure,
  };
  const prover = createProver({ clock, signingKeyOf: (clientId) => signingKeyOf(settings, clientId) });
  const tokenHands: TokenHands = { ...prover, wire, sleep };
  const finder = createFinder(configuration, wire);
  const registry = createRegistry(configuration, wire);
  const signIn = createSignIn(configuration, tokenHands, registry);
  const refresher = createRefresher(configuration, tokenHands, registry.ofTokens);
  const obtainer = createObtainer(configuration, { finder, registry, signIn, tokens: tokenHands });
  const ending = createEnding(configuration, { finder, registry, tokens: tokenHands });
  const { endReplaced } = ending;
  const access = createAccess(configuration, { obtainer, refresher, endReplaced });
  return { tokenHands, finder, registry, signIn, obtainer, ending, access };
}
