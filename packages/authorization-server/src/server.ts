/** Composes the authorization server: context, keys, federation, token endpoint, pages and metadata. */
import {
  type ConnectionInfo,
  type HttpRequest,
  type HttpResponse,
  toResponse,
  withSecurityHeaders,
} from '@portcullis/http';
import type { AccessTokenClaims } from '@portcullis/protocol';
import type { ApprovalsFeature } from './approvals/approval-pages.ts';
import type { CallApprovals } from './approvals/call-approvals.ts';
import { createSoftwareStatements } from './assertions/software-statement.ts';
import { type AuditLog, createAuditLog } from './audit/audit-log.ts';
import {
  createEventCorrelation,
  type EventCorrelation,
  withCorrelation,
  withRequestContext,
} from './audit/correlation.ts';
import type { ComponentEvent, ComponentEvents, EventSink } from './audit/events.ts';
import { noConnections } from './authorization/grant-connections.ts';
import { createPushedRequestEndpoint } from './authorization/par-endpoint.ts';
import { createPushedRequests } from './authorization/pushed-request.ts';
import { createReadRequestObject } from './authorization/request-object.ts';
import { type ClientAdministration, createClientAdministration } from './clients/administer.ts';
import { createClients } from './clients/clients.ts';
import type { FindClient } from './clients/find-client.ts';
import {
  createInitialAccessTokenAdministration,
  type InitialAccessTokenAdministration,
} from './clients/initial-access-tokens.ts';
import type { ComponentPages } from './component-pages.ts';
import type { ConnectedAccounts } from './connected-accounts/connected-accounts.ts';
import type { ServerContext } from './context.ts';
import { createDeviceEndpoint } from './device/device-endpoint.ts';
import { createDpopProofs, deriveNonceSecrets, type NonceSecrets } from './dpop/dpop-proofs.ts';
import { createEncryptor } from './encryption/encryptor.ts';
import { createFederation } from './federation/federation.ts';
import type { ProviderToken, ProviderTokenRequest, ProviderTokens } from './federation/provider-tokens.ts';
import {
  createRevocationTrigger,
  type RevocationTrigger,
  startRevocationJobs,
} from './federation/revocation-jobs.ts';
import { createTokenVault } from './federation/token-vault.ts';
import { createRejectForeignHost } from './http/foreign-host.ts';
import { createRouter, type Route, type Router } from './http/router.ts';
import { createIntrospection } from './introspection.ts';
import { createJwksEndpoint, toJwks } from './jwks.ts';
import { createAccessTokenFormat } from './keys/access-token-format.ts';
import { type KeyRing, loadKeyRing } from './keys/key-ring.ts';
import { createSecurityEventKeys, type SecurityEventKeys } from './keys/security-events.ts';
import type { PublicJwk } from './keys/signing-algorithms.ts';
import type { MailFeature } from './mail/mail.ts';
import type { MailedLinks } from './mail/mailed-links.ts';
import { createMetadata } from './metadata.ts';
import {
  type AuthorizationServerOptions,
  type OptionsForStore,
  type ServerOptions,
  validateOptions,
} from './options.ts';
import { createPages, type ServerPages } from './pages.ts';
import { createReadPersonalAccessToken } from './personal-access-tokens/personal-access-tokens.ts';
import { createLimitRegistry, type LimitRegistry } from './rate-limit/limit-registry.ts';
import { createRevocation } from './revocation.ts';
import { completeStore } from './store/capabilities.ts';
import type { CoreStore } from './store/index.ts';
import { createTokenEndpoint } from './token/endpoint.ts';
import { createGetProviderToken } from './token/get-provider-token.ts';
import type { GrantServices } from './token/grant-handler.ts';
import {
  createIsLive,
  requireCurrentGroups,
  requireLiveProviderTokens,
  requirePublishedKey,
} from './token/is-live.ts';
import { createIssueAccessToken, limitByProviderTokens } from './token/issue.ts';
import { createRefreshTokens } from './token/refresh-token-family.ts';
import { createSignUserAssertion, type SignUserAssertion } from './token/user-assertion.ts';
import { type AccountAdministration, createAccountAdministration } from './users/administer-accounts.ts';

/** An authorization server, to be mounted at the root of its issuer's origin. */
export interface AuthorizationServer {
  readonly issuer: string;
  /** Handles any request; an unknown path gets 404. Never throws: every error becomes a response. @see RFC 6749 §3, RFC 8414 §3 */
  handle(request: Request, connection?: ConnectionInfo): Promise<Response>;
  /** Like `handle`, with plain objects instead of `Request` and `Response`, for speed. @see `listen` of `@portcullis/http/node` */
  handleHttp(request: HttpRequest, connection?: ConnectionInfo): Promise<HttpResponse>;
  /** Whether a path belongs to this server, so that a host can mount an application beside it. */
  owns(path: string): boolean;
  /** All routes. A path that ends with `/*` matches every path below it. */
  readonly routes: readonly Pick<Route, 'method' | 'path'>[];
  /** The public signing keys, for a guard in the same process. @see RFC 7517 §5 */
  jwks(): Promise<{ keys: PublicJwk[] }>;
  /**
   * Whether a verified access token is live: neither it, nor its grant, nor the key that signed it has been revoked. For a guard in
   * the same process, instead of introspection.
   * @param keyId the `kid` of the key that verified the token; without it, the key is not checked
   * @throws OAuthError `temporarily_unavailable` while the store or the grant's identity provider is unavailable
   * @see RFC 7662 §2.2
   */
  isLive(claims: AccessTokenClaims, keyId?: string): Promise<boolean>;
  /**
   * The claims of a live personal access token, for a guard in the same process; `null` for any other text, and if the option
   * `personalAccessTokens` is off. @see `opaqueTokenVerifier` of `@portcullis/resource-server`
   */
  readPersonalAccessToken(token: string): Promise<AccessTokenClaims | null>;
  /**
   * The identity provider's token behind the grant of a verified access token, for a protected server in the same process.
   * @throws OAuthError `invalid_grant` when it has been revoked or has expired, or the access token is no longer live;
   * `invalid_target` when there is none or it is from another provider; `invalid_scope` when it lacks a requested scope; `temporarily_unavailable`
   * @see RFC 8693 §2.2, for the same over HTTP
   */
  upstreamToken(claims: AccessTokenClaims, want?: ProviderTokenRequest): Promise<ProviderToken>;
  /** Signs an assertion about a user for token exchange at another authorization server. It is no access token. @see RFC 8693 §3 */
  readonly signUserAssertion: SignUserAssertion;
  /** For a transmitter of security events at the same issuer. @see RFC 8417 */
  readonly securityEventKeys: SecurityEventKeys;
  /**
   * The ID token with which the user of a grant logged in at their identity provider, for its token exchange (ID-JAG).
   * @param clientId the client of the token endpoint that receives it, which has to be its audience
   * @throws OAuthError `invalid_grant`, `invalid_target` if there is none for this client, `temporarily_unavailable`
   */
  upstreamIdToken(grantId: string, clientId: string): Promise<string>;
  /** Accounts that users have connected at the backends of a gateway, for the gateway in the same process. */
  readonly connectedAccounts: ConnectedAccounts;
  /** Approvals of calls, for the gateway in the same process; if the option `approvals` is off, none can be given. */
  readonly approvals: CallApprovals;
  /**
   * The secrets of its DPoP nonces, for a guard at the same origin: clients store one nonce per origin.
   * @see RFC 9449 §8.2
   */
  readonly dpopNonces: NonceSecrets;
  /** Administration of registered and added clients. @see RFC 7591 §2 */
  readonly clients: ClientAdministration;
  /** Initial access tokens for one registration each. @see RFC 7591 §3 */
  readonly initialAccessTokens: InitialAccessTokenAdministration;
  /** Administration of user accounts. */
  readonly accounts: AccountAdministration;
  /** Browser sessions and look of the pages, for pages of a component at the same origin. */
  readonly componentPages: ComponentPages;
  /** For the program that sends mail for audit events; `null`: the option `sendsMail` is off. */
  readonly mailedLinks: MailedLinks | null;
  /** The page that lists the protected servers, for a host with nothing else at its root. */
  frontPage(request: HttpRequest, connection?: ConnectionInfo): Promise<HttpResponse>;
  /** The 404 page, for paths that the host does not know either. */
  missingPage(request: HttpRequest, connection?: ConnectionInfo): Promise<HttpResponse>;
  /** A one-time link that creates the first account, valid for a day; `null` when there is one, also of an identity provider. */
  setupLink(): Promise<string | null>;
  /**
   * Creates the first account, if there is none.
   * @throws ConfigurationError if the email address or the password is invalid
   */
  bootstrap(email: string, password: string): Promise<'created' | 'exists'>;
  /** Records an event of a component that is composed with this server, such as a gateway, and passes it to the component's listener. */
  recordOf<Event extends ComponentEvent>(events: ComponentEvents<Event>, event: Event): void;
  /** Stops background work and flushes the audit log. The store stays open: its owner closes it. */
  close(): Promise<void>;
}

/**
 * Creates an authorization server (OAuth 2.1 draft 13, RFC 8414, RFC 9068): validates the options, and loads the signing keys or
 * creates the first one.
 * @param previous the server that it replaces in this process, with the same store and rate limits: what was counted there counts here
 * @throws ConfigurationError with every issue of the options, or when the master key does not decrypt the stored keys
 * @throws OAuthError `temporarily_unavailable` when the store is unavailable
 * @see RFC 6749 §1.1, RFC 8414 §2, RFC 9068 §2
 * @example
 * ```ts
 * import { createAuthorizationServer } from '@portcullis/authorization-server';
 * import { openStore } from '@portcullis/store';
 *
 * const store = await openStore(':memory:');
 * const server = await createAuthorizationServer({
 *   issuer: 'https://auth.example',
 *   store,
 *   masterKey: crypto.getRandomValues(new Uint8Array(32)), // the same at each start, stored elsewhere
 *   resources: [
 *     { resource: 'https://mcp.example/mcp', name: 'Notes', scopes: { 'notes:read': 'Read your notes' } },
 *   ],
 * });
 * const metadata = new Request('https://auth.example/.well-known/oauth-authorization-server');
 * const { token_endpoint } = await (await server.handle(metadata)).json();
 * console.log(token_endpoint); // https://auth.example/token
 * await server.close();
 * await store.close();
 * ```
 */
export async function createAuthorizationServer<S extends CoreStore>(
  options: OptionsForStore<S>,
  previous?: AuthorizationServer,
): Promise<AuthorizationServer> {
  const limits = (previous && limitsOf.get(previous)) ?? createLimitRegistry();
  const initial = createServerContext(options, limits);
  const auditLog = createServerAuditLog(initial);
  const correlation = createEventCorrelation(initial.clock);
  const revocationTrigger = createRevocationTrigger();
  const events = withCorrelation(revocationTrigger.watch(createSink(auditLog, initial.events)), correlation);
  const context: ServerContext<ServerOptions> = { ...initial, events };
  const keys = await loadKeyRing(context);
  const upstream = await createUpstream(context, revocationTrigger);
  const { federation, connectedAccounts } = upstream;
  const approvals = await loadApprovals(context, async () => auditLog?.flush());
  const clients = createClients(context, createSoftwareStatements(context));
  const { authenticateClient: authenticate, findClient, recordClientUse } = clients;
  const mail = await loadMail(context, findClient);
  const { providerTokens } = federation;
  const services = createGrantServices(context, keys, correlation, providerTokens);
  const { accessTokens, refreshTokens, isLive } = services;
  const readPersonalAccessToken = context.options.personalAccessTokens
    ? createReadPersonalAccessToken(context)
    : null;
  const proofs = createDpopProofs(context);
  const pushedRequests = createPushedRequests(context);
  const readRequestObject = createReadRequestObject(context, clients.verifyJwt);
  const connections = connectedAccounts?.connections ?? noConnections;
  const pages = createPages(
    context,
    { findClient, federation, connections, pushedRequests, readRequestObject },
    (router, completeLogin) =>
      [connectedAccounts, approvals, mail].flatMap((feature) => feature?.routes(router, completeLogin) ?? []),
  );
  const providerReports = await loadProviderReports(context);
  const { issuer } = context.options;
  const served: readonly Route[] = [
    ...pages.routes,
    createTokenEndpoint(services, authenticate, proofs, recordClientUse),
    ...(context.options.servesUsers
      ? [createPushedRequestEndpoint(context, { authenticate, proofs, pushedRequests, readRequestObject })]
      : []),
    ...(context.options.deviceAuthorization && context.options.servesUsers
      ? [createDeviceEndpoint(context, authenticate)]
      : []),
    ...clients.routes,
    ...providerReports.routes,
    createRevocation(context, accessTokens, authenticate, refreshTokens),
    createIntrospection(context, accessTokens, authenticate, isLive, refreshTokens, readPersonalAccessToken),
    createJwksEndpoint(keys),
  ];
  const routes = [...served, ...createMetadata(context, served)];
  const router = createRouter(routes, events, issuer.startsWith('https:'));
  const handlers = createHandlers(router, keys, pages, { issuer, events });
  const server: AuthorizationServer = {
    issuer,
    handle: async (request, connection) => toResponse(await handlers.handleHttp(request, connection)),
    ...handlers,
    owns: router.owns,
    routes: routes.map(({ method, path }) => ({ method, path })),
    async jwks() {
      await keys.refresh();
      return toJwks(keys);
    },
    isLive: requirePublishedKey(isLive, keys),
    readPersonalAccessToken: readPersonalAccessToken ?? (async () => null),
    upstreamToken: services.getProviderToken,
    dpopNonces: deriveNonceSecrets(context.options),
    signUserAssertion: createSignUserAssertion(context, keys),
    securityEventKeys: createSecurityEventKeys(context, keys),
    upstreamIdToken: providerTokens.idTokenFor,
    connectedAccounts: connectedAccounts?.accounts ?? noAccounts,
    approvals: approvals?.calls ?? noApprovals,
    clients: createClientAdministration({ ...context, ...context.options }),
    initialAccessTokens: createInitialAccessTokenAdministration(context),
    accounts: createAccountAdministration({ ...context, ...context.options }),
    componentPages: pages.componentPages,
    mailedLinks: mail?.links ?? null,
    setupLink: pages.setupLink,
    bootstrap: pages.bootstrap,
    recordOf(component, event) {
      const correlated = correlation.correlateOf(event);
      auditLog?.recordOf(component, correlated);
      component.listener(correlated);
    },
    async close() {
      await providerReports.close();
      await upstream.close();
      await auditLog?.close();
    },
  };
  limitsOf.set(server, limits);
  return server;
}

/** Handles requests for this host only, with security headers, after the signing keys were loaded. */
function createHandlers(
  router: Pick<Router, 'handle'>,
  keys: Pick<KeyRing, 'refresh'>,
  pages: Pick<ServerPages, 'frontPage' | 'missingPage'>,
  { issuer, events }: { readonly issuer: string; readonly events: EventSink },
): Pick<AuthorizationServer, 'handleHttp' | 'frontPage' | 'missingPage'> {
  const isHttps = issuer.startsWith('https:');
  const rejectForeignHost = createRejectForeignHost(issuer, events);
  const guarded =
    (show: ServerPages['frontPage']): AuthorizationServer['frontPage'] =>
    async (request, connection = {}) =>
      withSecurityHeaders(
        rejectForeignHost(request, connection) ?? (await show(request, connection)),
        isHttps,
      );
  return {
    handleHttp(request, connection = {}) {
      const rejected = rejectForeignHost(request, connection);
      if (rejected !== null) return Promise.resolve(withSecurityHeaders(rejected, isHttps));
      const refreshing = keys.refresh();
      const work = () => router.handle(request, connection);
      return withRequestContext(connection, refreshing === null ? work : () => refreshing.then(work));
    },
    frontPage: guarded(pages.frontPage),
    missingPage: guarded(pages.missingPage),
  };
}

/** Everything with tokens of other issuers: federation, connected accounts, and the jobs that revoke the tokens of both. */
async function createUpstream(context: ServerContext<ServerOptions>, revocationTrigger: RevocationTrigger) {
  const vault = createTokenVault(context);
  const federation = await createFederation(context, vault);
  // `null`: the server has no backends, and had none.
  const connectedAccounts =
    context.options.backends === null && !(await context.store.hasConnectedAccounts())
      ? null
      : (await import('./connected-accounts/connected-accounts.ts')).createConnectedAccounts(context, vault);
  const queues = [federation.revocations, connectedAccounts?.revocations ?? null];
  const revocationJobs = await startRevocationJobs(context, vault, revocationTrigger, queues);
  return {
    federation,
    connectedAccounts,
    async close() {
      await revocationJobs?.close();
      await Promise.all([federation.providerTokens.whenIdle(), connectedAccounts?.whenIdle()]);
    },
  };
}

/** `null`: no call needs one. */
async function loadApprovals(
  context: ServerContext<ServerOptions>,
  writeEvents: () => Promise<void>,
): Promise<ApprovalsFeature | null> {
  if (!context.options.approvals) return null;
  const { createApprovals } = await import('./approvals/approval-pages.ts');
  return createApprovals(context, writeEvents);
}

/** `null`: no mail is sent. */
async function loadMail(
  context: ServerContext<ServerOptions>,
  findClient: FindClient,
): Promise<MailFeature | null> {
  if (!context.options.sendsMail || !context.options.servesUsers) return null;
  const { createMail } = await import('./mail/mail.ts');
  return createMail(context, findClient);
}

/** What identity providers send: logouts, security events, and changes of users; nothing unless one is configured to. */
async function loadProviderReports(context: ServerContext<ServerOptions>) {
  const isSent = (member: 'backChannelLogout' | 'sharedSignals' | 'scim') =>
    context.options.identityProviders.values().some((provider) => provider[member] !== null);
  const logouts = isSent('backChannelLogout')
    ? (await import('./back-channel-logout/back-channel-logout.ts')).createBackChannelLogout(context)
    : [];
  const signals = isSent('sharedSignals')
    ? (await import('./shared-signals/shared-signals.ts')).createSharedSignals(context)
    : null;
  const changes = isSent('scim') ? (await import('./scim/endpoint.ts')).createScimEndpoint(context) : [];
  return {
    routes: [...logouts, ...(signals?.routes ?? []), ...changes],
    close: async () => signals?.close(),
  };
}

const noApprovals: CallApprovals = {
  request: async () => ({ kind: 'impossible', reason: 'approvals of calls are off' }),
};

const noAccounts: ConnectedAccounts = {
  find: async () => null,
  replace: async () => null,
  createLink: async () => null,
};

/** For the servers that take their place. */
const limitsOf = new WeakMap<AuthorizationServer, LimitRegistry>();

/** @throws ConfigurationError with every issue of the options */
export function createServerContext(
  options: Omit<AuthorizationServerOptions, 'store'> & { readonly store: CoreStore },
  limits: LimitRegistry = createLimitRegistry(),
): ServerContext<ServerOptions> {
  const validated = validateOptions(options);
  return {
    options: validated,
    store: completeStore(options.store),
    clock: options.clock ?? (() => Math.floor(Date.now() / 1000)),
    events: options.events ?? (() => {}),
    encryptor: createEncryptor(validated.masterKey, validated.previousMasterKeys),
    limits,
  };
}

/** What the grants share: the format, issuance and liveness of tokens. */
function createGrantServices(
  context: ServerContext<ServerOptions>,
  keys: KeyRing,
  correlation: EventCorrelation,
  providerTokens: ProviderTokens,
): GrantServices {
  const accessTokens = createAccessTokenFormat(keys, context.options);
  const isLive = correlation.watchFirstUse(
    requireLiveProviderTokens(requireCurrentGroups(createIsLive(context), context), providerTokens),
    context.events,
  );
  return {
    context,
    accessTokens,
    isLive,
    providerTokens,
    issueAccessToken: limitByProviderTokens(createIssueAccessToken(context, accessTokens), providerTokens),
    refreshTokens: createRefreshTokens(context),
    getProviderToken: createGetProviderToken(context, isLive, providerTokens),
  };
}

/** `null`: events are not stored. */
function createServerAuditLog(context: ServerContext<ServerOptions>): AuditLog | null {
  const { store, clock, events } = context;
  const { auditRetention, auditLevel } = context.options;
  return auditRetention === false ? null : createAuditLog(store, auditRetention, clock, auditLevel, events);
}

/** Events go to the audit log and to the listener of the operator. */
function createSink(auditLog: AuditLog | null, listener: EventSink): EventSink {
  if (auditLog === null) return listener;
  return (event) => {
    auditLog.record(event);
    listener(event);
  };
}
