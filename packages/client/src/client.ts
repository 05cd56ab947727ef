/** The client of one protected server: all its rooms put together. */
import type { Scopes } from '@portcullis/protocol';
import { createSignIn } from './authorization/sign-in.ts';
import { createAuthorizedFetch, provoke } from './authorized-fetch.ts';
import { type ClientOptions, defineConfiguration } from './configuration.ts';
import type { ServerChallenge } from './discovery/challenge.ts';
import type { Discovery } from './discovery/conclude.ts';
import { discover } from './discovery/discover.ts';
import { ClientError } from './errors.ts';
import { extensionsOf } from './grants/settings.ts';
import { createRegistry } from './registration/registrar.ts';
import { isDeadClient } from './registration/standing.ts';
import { createAccess } from './session/access.ts';
import { createObtainer } from './session/obtainer.ts';
import type { CredentialRecord } from './store/credential-store.ts';
import { createProver } from './tokens/prover.ts';
import { createRefresher } from './tokens/refresh.ts';
import { revokeTokens } from './tokens/revocation.ts';
import type { SigningKey } from './tokens/signing-key.ts';
import type { TokenHands } from './tokens/token-endpoint.ts';
import type { Fetch, Wire } from './transport.ts';

/** A session as it may be shown: no secret is in it. */
export interface Session {
  readonly server: string;
  readonly issuer: string;
  readonly account: string;
  readonly clientId: string;
  readonly scopes: Scopes;
  readonly scheme: 'Bearer' | 'DPoP';
  /** Epoch milliseconds; `null`: not told. */
  readonly expiresAt: number | null;
  readonly refreshable: boolean;
  /** Where its credentials are kept. */
  readonly place: string;
}

/** How a sign-in is asked for. */
export interface SignInOptions {
  /** Sent as `prompt`, for example `select_account`. */
  readonly prompt?: string;
  /** Asked for beside what the session has; `confirmStepUp` may decline. */
  readonly scopes?: Scopes;
  /** Registers the client anew, when a page of the authorization server says that it does not know it; tokens stay. */
  readonly registerAnew?: boolean;
}

/** What the first half of a sign-in with pages of one's own needs. */
export interface BeginOptions {
  /** Sent as `prompt`, for example `select_account`. */
  readonly prompt?: string;
  /** Where the browser comes back to. */
  readonly redirectUri: string;
  /** What the answer has to be completed with, such as the session of the person at this host. */
  readonly binding?: string;
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
  const { server, account, store, limits, clock, sleep, tell } = configuration;
  const wire: Wire = {
    fetch: configuration.oauthFetch,
    timeout: limits.timeout,
    limit: limits.bytes,
    explain: configuration.explainFailure,
  };
  const tokenHands: TokenHands = { ...createProver({ clock, signingKeyOf }), wire, sleep };
  const registry = createRegistry(configuration, wire);
  const signIn = createSignIn(configuration, tokenHands, registry);
  const refresher = createRefresher(configuration, tokenHands, registry.ofTokens);
  const obtainer = createObtainer(configuration, { discover: find, registry, signIn, tokens: tokenHands });
  const access = createAccess(configuration, { obtainer, refresher, endReplaced });

  return {
    server,
    extensions: extensionsOf(configuration.grant),
    fetch: createAuthorizedFetch(configuration, access, tokenHands),
    discover: async () => find(await provoke(configuration)),
    session,
    async signIn({ prompt, scopes, registerAnew } = {}) {
      if (registerAnew) await forgetRegistrations();
      const found = await provoke(configuration);
      const challenge = scopes === undefined ? found : { ...found, scopes };
      const standing = scopes === undefined ? null : ((await access.record())?.tokens ?? null);
      if (standing === null) await access.obtain(challenge, prompt ?? null);
      else await access.stepUp(standing, challenge);
      return requireSession();
    },
    async begin({ redirectUri, binding, prompt }) {
      const prepared = await obtainer.prepare(await provoke(configuration), obtainer.planFirst);
      if (prepared === null) throw new TypeError('The first plan always asks.');
      return signIn.begin({ ...prepared, prompt: prompt ?? null }, redirectUri, binding ?? null);
    },
    async complete(arrived, binding) {
      const pending = await signIn.take(arrived, binding ?? null);
      const key = { server: pending.server, issuer: pending.issuer, account: pending.account };
      try {
        const replaced = await access.keep(key, await signIn.finish(pending, arrived));
        if (replaced !== null) await endEarlier(replaced);
      } catch (error) {
        // The next first half registers anew.
        if (isDeadClient(error)) await registry.dropDead(key, error.message, pending.registration.clientId);
        throw error;
      }
      return requireSession();
    },
    accessToken: async () => (await access.current())?.accessToken ?? null,
    signOut,
  };

  async function find(challenge: ServerChallenge): Promise<Discovery> {
    const discovery = await discover(
      {
        wire,
        profile: configuration.profile,
        versionHeader: configuration.versionHeader,
        trustedOrigins: configuration.trustedOrigins,
        issuerAliases: configuration.issuerAliases,
        resourceIndicators: configuration.resourceIndicators,
        order: configuration.orderAuthorizationServers ?? knownFirst,
      },
      server,
      challenge,
    );
    const { issuer, profile, resource, endpoints } = discovery;
    tell({ type: 'discovered', server, issuer, revision: profile.revision, resource, endpoints });
    return discovery;
  }

  /** Where the person has been before comes first; then the order in which the server names them. */
  async function knownFirst(issuers: readonly string[]): Promise<readonly string[]> {
    const configured = (configuration.registration.preregistered ?? []).map(({ issuer }) => issuer);
    const records = await store.list(server, account);
    const known = (issuer: string): boolean =>
      configured.includes(issuer) || records.some(({ key }) => key.issuer === issuer);
    return [...issuers.filter(known), ...issuers.filter((issuer) => !known(issuer))];
  }

  function signingKeyOf(clientId: string): SigningKey | null {
    const { preregistered = [], metadataDocumentUrl, metadataDocumentKey } = configuration.registration;
    if (clientId === metadataDocumentUrl) return metadataDocumentKey ?? null;
    return preregistered.find((client) => client.clientId === clientId)?.signingKey ?? null;
  }

  async function forgetRegistrations(): Promise<void> {
    for (const { key } of await store.list(server, account))
      await registry.dropDead(key, 'a new registration was asked for');
  }

  async function session(): Promise<Session | null> {
    const record = await access.record();
    return record === null ? null : describe(record);
  }

  async function requireSession(): Promise<Session> {
    const standing = await session();
    if (standing === null) throw new TypeError('Tokens were kept, and the store does not have them.');
    return standing;
  }

  function describe({ key, tokens }: CredentialRecord): Session | null {
    if (tokens === null) return null;
    const { clientId, scopes, scheme, expiresAt } = tokens;
    return {
      ...key,
      clientId,
      scopes,
      scheme,
      expiresAt,
      refreshable: tokens.refreshToken !== null,
      place: store.place,
    };
  }

  async function signOut(): Promise<'revoked' | 'forgotten' | 'no_session'> {
    const record = await access.record();
    access.forget();
    if (record === null || record.tokens === null) return 'no_session';
    await store.save({ ...record, tokens: null });
    return (await revoke(record)) ? 'revoked' : 'forgotten';
  }

  async function revoke(record: CredentialRecord): Promise<boolean> {
    try {
      return await revokeAt(await find(await provoke(configuration)), record);
    } catch {
      // The credentials are gone from here all the same.
      return false;
    }
  }

  async function revokeAt({ issuer, metadata }: Discovery, record: CredentialRecord): Promise<boolean> {
    const registration = record.tokens === null ? null : registry.ofTokens(record, record.tokens);
    const endpoint = metadata.revocation_endpoint;
    if (record.tokens === null || registration === null) return false;
    if (endpoint === undefined || issuer !== record.key.issuer) return false;
    await revokeTokens(tokenHands, { endpoint, issuer, registration, tokens: record.tokens });
    return true;
  }

  /**
   * The revocation of a particular token may cause the revocation of related tokens and the underlying authorization
   * grant: where all of a person's tokens are one grant, the new ones would end with the old. Only a server that says
   * otherwise is asked.
   * @see RFC 7009 §2.1
   */
  async function endReplaced(replaced: CredentialRecord, discovery: Discovery): Promise<void> {
    const { issuer, metadata } = discovery;
    if (metadata.revocation_leaves_other_grants !== true) return;
    try {
      await revokeAt(discovery, replaced);
    } catch (error) {
      const reason = error instanceof ClientError ? error.message : 'it did not answer';
      tell({ type: 'replaced_session_stands', issuer, reason });
    }
  }

  /** After a sign-in in two halves, whose discovery was long ago. */
  async function endEarlier(replaced: CredentialRecord): Promise<void> {
    try {
      await endReplaced(replaced, await find(await provoke(configuration)));
    } catch (error) {
      const reason = error instanceof ClientError ? error.message : 'it could not be asked';
      tell({ type: 'replaced_session_stands', issuer: replaced.key.issuer, reason });
    }
  }
}
