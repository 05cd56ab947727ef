/** Connected accounts put together: accounts of users at the backends of a gateway. Loaded only if a server has backends, or had. */
import type { GrantConnections } from '../authorization/grant-connections.ts';
import type { PageRouter } from '../authorization/page-context.ts';
import { createRevocationQueue } from '../federation/revocation-jobs.ts';
import type { TokenVault } from '../federation/token-vault.ts';
import type { Route } from '../http/router.ts';
import { type AccountTokens, createAccountRecords, createAccountTokens } from './account-tokens.ts';
import type { UserBackends } from './backend.ts';
import { type AccountServices, createBackendCallbacks } from './callback.ts';
import { createConnectRoutes } from './connect-page.ts';
import { createConnectionRequests } from './connection-requests.ts';
import { createGrantConnections } from './grant-accounts.ts';
import { type ConnectLinks, createConnectLinks } from './links.ts';
import type { BackendContext } from './options.ts';

/** Accounts that users have connected at backends. Each belongs to one grant: another grant of the same user has its own. */
export interface ConnectedAccounts extends Pick<AccountTokens, 'find' | 'replace'> {
  readonly createLink: ConnectLinks['create'];
}

/** Accounts may outlive the configuration of their backends: then they only end. */
const noBackends: UserBackends = { of: () => [], find: () => undefined };

export function createConnectedAccounts(context: BackendContext, vault: TokenVault) {
  const { store, options } = context;
  const backends = options.backends ?? noBackends;
  const records = createAccountRecords(store, backends);
  const tokens = createAccountTokens(context, vault, records);
  const requests = createConnectionRequests(context, vault);
  const links = createConnectLinks(context, backends);
  const connectionsWithout = (skipped: readonly string[]): GrantConnections =>
    createGrantConnections(context, backends, requests, skipped);
  const services: AccountServices = { backends, tokens, requests, links, connectionsWithout };
  const accounts: ConnectedAccounts = {
    find: tokens.find,
    replace: tokens.replace,
    createLink: links.create,
  };
  return {
    /** For the gateway in the same process. */
    accounts,
    /** For the authorization endpoint. */
    connections: connectionsWithout([]),
    revocations: createRevocationQueue(context, vault, records),
    routes: (pages: PageRouter): readonly Route[] =>
      options.backends === null
        ? []
        : [...createBackendCallbacks(pages, services), ...createConnectRoutes(pages, services)],
    /** Resolves when no refresh is in progress, whose response would be lost. */
    whenIdle: tokens.whenIdle,
  };
}
