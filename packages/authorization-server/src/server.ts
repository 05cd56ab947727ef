/** Composes the authorization server: context, keys, federation, token endpoint, pages and metadata. */
import {
  type ConnectionInfo,
  type HttpRequest,
  type HttpResponse,
  toResponse,
  withSecurityHeaders,
} from '@portcullis/http';
import type { AccessTokenClaims } from '@portcullis/protocol';
import { type AuditLog, createAuditLog } from './audit/audit-log.ts';
import { createEventCorrelation, withCorrelation, withRequestContext } from './audit/correlation.ts';
import type { EventSink } from './audit/events.ts';
import { type ClientAdministration, createClientAdministration } from './clients/administer.ts';
import { createClients } from './clients/clients.ts';
import {
  createInitialAccessTokenAdministration,
  type InitialAccessTokenAdministration,
} from './clients/initial-access-tokens.ts';
import type { ServerContext } from './context.ts';
import { createFederation } from './federation/federation.ts';
import type { ProviderToken, ProviderTokenRequest } from './federation/provider-tokens.ts';
import { createRevocationTrigger } from './federation/revocation-jobs.ts';
import { createRouter, type Route } from './http/router.ts';
import { createIntrospection } from './introspection.ts';
import { createJwksEndpoint, toJwks } from './jwks.ts';
import { createAccessTokenFormat } from './keys/access-token-format.ts';
import { loadKeyRing } from './keys/key-ring.ts';
import type { PublicJwk } from './keys/signing-algorithms.ts';
import { createMetadata } from './metadata.ts';
import type { AuthorizationServerOptions } from './options.ts';
import { createPages } from './pages.ts';
import { createRevocation } from './revocation.ts';
import { createStatusListFeature } from './status-lists/status-lists.ts';
import { completeStore, type OptionsForStore } from './store/capabilities.ts';
import type { CoreStore } from './store/index.ts';
import { createTokenEndpoint } from './token/endpoint.ts';
import { createGetProviderToken } from './token/get-provider-token.ts';
import { createIsLive, requireLiveProviderTokens } from './token/is-live.ts';
import { createIssueAccessToken, limitByProviderTokens } from './token/issue.ts';
import { createRefreshTokens } from './token/refresh-token-family.ts';
import { type AccountAdministration, createAccountAdministration } from './users/administer-accounts.ts';
import { validateOptions } from './validate-options.ts';

export type { ConnectionInfo } from '@portcullis/http';
/** An authorization server, to be mounted at the root of its issuer's origin. */
export interface AuthorizationServer {
  /** Answers every request: 404 for a path that is not its own. Never rejects. */
  handle(request: Request, connection?: ConnectionInfo): Promise<Response>;
  /** The same without the web's `Request` and `Response`, which take time to make: for `listen` of `@portcullis/http/node`. */
  handleHttp(asked: HttpRequest, connection?: ConnectionInfo): Promise<HttpResponse>;
  /** Whether a path is one of its own, so that a host can mount an application beside it. */
  owns(path: string): boolean;
  /** What it answers, so that a host can list, count or try all of it. A path that ends with `/*` stands for all below it. */
  readonly routes: readonly Pick<Route, 'method' | 'path'>[];
  /** The public keys, for a guard in the same process. */
  jwks(): Promise<{ keys: PublicJwk[] }>;
  /** Whether a verified access token still stands: neither it nor its grant is revoked. */
  isLive(claims: AccessTokenClaims): Promise<boolean>;
  /**
   * The third party's token that the grant of a verified access token rests on: for a protected server in the same process.
   * @throws OAuthError `invalid_grant` when it has ended, here or there; `invalid_target` when there is none or it is of another
   * third party; `invalid_scope` when it lacks a wanted scope; `temporarily_unavailable`
   */
  upstreamToken(claims: AccessTokenClaims, want?: ProviderTokenRequest): Promise<ProviderToken>;
  /** Clients that registered or that an administrator adds. */
  readonly clients: ClientAdministration;
  /** Initial access tokens for one registration each. */
  readonly initialAccessTokens: InitialAccessTokenAdministration;
  /** The accounts of people. */
  readonly accounts: AccountAdministration;
  /** A page that lists what tokens are issued for: for a host that has nothing better at its root. */
  frontPage(asked: HttpRequest, connection?: ConnectionInfo): Promise<HttpResponse>;
  /** A page that says, with 404, that nothing stands at a path: for a host that is asked for one by a browser. */
  missingPage(asked: HttpRequest, connection?: ConnectionInfo): Promise<HttpResponse>;
  /** A one-time link that makes the first account; `null` when there is one. */
  setupLink(): Promise<string | null>;
  /** Creates the first account, if there is none. */
  bootstrap(email: string, password: string): Promise<'created' | 'exists'>;
  /** Ends its own work. The store stays open: whoever opened it closes it. */
  close(): Promise<void>;
}

/**
 * Creates an authorization server: judges the options, loads the signing keys or makes the first.
 * @throws ConfigurationError with every fault of the options, or when the sealing key does not open the stored keys.
 */
export async function createAuthorizationServer<S extends CoreStore>(
  options: OptionsForStore<S>,
): Promise<AuthorizationServer> {
  const given = createServerContext(options);
  const { store, clock } = given;
  const { auditRetention, issuer } = given.options;
  const auditLog = auditRetention === false ? null : createAuditLog(store, auditRetention, clock);
  const correlation = createEventCorrelation(clock);
  const revocationTrigger = createRevocationTrigger();
  const events = withCorrelation(revocationTrigger.watch(createSink(auditLog, given.events)), correlation);
  const context: ServerContext = { ...given, events };
  const keys = await loadKeyRing(context);
  const statusLists = context.options.statusLists ? createStatusListFeature(context, keys) : null;
  const federation = await createFederation(context, revocationTrigger);
  const accessTokens = createAccessTokenFormat(keys, context.options);
  const clients = createClients(context);
  const { authenticateClient: authenticate, findClient, recordClientUse } = clients;
  const { providerTokens } = federation;
  const isLive = correlation.watchFirstUse(
    requireLiveProviderTokens(createIsLive(context), providerTokens),
    events,
  );
  const issueAccessToken = limitByProviderTokens(
    createIssueAccessToken(context.options, accessTokens, statusLists?.assignStatus ?? null),
    providerTokens,
  );
  const refreshTokens = createRefreshTokens(context);
  const getProviderToken = createGetProviderToken(context, isLive, providerTokens);
  const interaction = createPages(context, { findClient, federation });
  const isHttps = issuer.startsWith('https:');
  const served: readonly Route[] = [
    ...interaction.routes,
    createTokenEndpoint(
      { context, issueAccessToken, refreshTokens, accessTokens, getProviderToken },
      authenticate,
      recordClientUse,
    ),
    ...clients.routes,
    createRevocation(
      context,
      accessTokens,
      authenticate,
      refreshTokens,
      statusLists?.recordRevokedToken ?? null,
    ),
    createIntrospection(context, accessTokens, authenticate, isLive, refreshTokens),
    createJwksEndpoint(keys),
    ...(statusLists?.routes ?? []),
  ];
  const routes = [...served, ...createMetadata(context, served)];
  const router = createRouter(routes, events, isHttps);
  const answer: AuthorizationServer['handleHttp'] = (asked, connection = {}) => {
    const looking = keys.refresh();
    const work = () => router.handle(asked, connection);
    return withRequestContext(connection, looking === null ? work : () => looking.then(work));
  };
  return {
    handle: async (request, connection) => toResponse(await answer(request, connection)),
    handleHttp: answer,
    owns: router.owns,
    routes: routes.map(({ method, path }) => ({ method, path })),
    async jwks() {
      await keys.refresh();
      return toJwks(keys);
    },
    isLive,
    upstreamToken: getProviderToken,
    clients: createClientAdministration({ ...context, ...context.options }),
    initialAccessTokens: createInitialAccessTokenAdministration(context),
    accounts: createAccountAdministration({ ...context, issuer }),
    frontPage: async (request, connection = {}) =>
      withSecurityHeaders(await interaction.frontPage(request, connection), isHttps),
    missingPage: async (request, connection = {}) =>
      withSecurityHeaders(await interaction.missingPage(request, connection), isHttps),
    setupLink: interaction.setupLink,
    bootstrap: interaction.bootstrap,
    async close() {
      await federation.close();
      await auditLog?.close();
    },
  };
}

/** @throws ConfigurationError with every issue of the options */
export function createServerContext(
  options: Omit<AuthorizationServerOptions, 'store'> & { readonly store: CoreStore },
): ServerContext {
  return {
    options: validateOptions(options),
    store: completeStore(options.store),
    clock: options.clock ?? (() => Math.floor(Date.now() / 1000)),
    events: options.events ?? (() => {}),
  };
}

/** Events go to the auditLog and to whoever listens. */
function createSink(auditLog: AuditLog | null, listener: EventSink): EventSink {
  if (auditLog === null) return listener;
  return (event) => {
    auditLog.record(event);
    listener(event);
  };
}
