/** Tokens of connected accounts: stored for one grant and backend, refreshed before they expire, and never used for another grant. */
import { type Scopes, temporarilyUnavailable } from '@portcullis/protocol';
import { nextRefreshAction } from '../federation/liveness-rule.ts';
import { createTokenRefresher } from '../federation/refresh.ts';
import type { TokenRefresh } from '../federation/refresh-with-lease.ts';
import type { TokenRecords } from '../federation/token-records.ts';
import type { TokenVault } from '../federation/token-vault.ts';
import { discardedTokens, encryptUpstreamTokens } from '../federation/upstream-tokens.ts';
import { newIdentifier, newSecret } from '../secrets.ts';
import { createSingleFlight } from '../single-flight.ts';
import type { ConnectedAccountKey, ConnectedAccountRecord, ConnectedAccountStore } from '../store/index.ts';
import type { BackendTokenResponse, BackendTokenSet, UserBackend, UserBackends } from './backend.ts';
import type { BackendContext } from './options.ts';

/** The tokens of one grant at one backend, which have not expired. */
export interface ConnectedAccountTokens {
  readonly tokens: BackendTokenSet;
  readonly scopes: Scopes;
  /** Changes with each refresh and each new connection. */
  readonly version: number;
  /** Epoch seconds until which they need not be looked up again. */
  readonly until: number;
  /** Epoch seconds at which they were issued. */
  readonly issuedAt: number;
}

export type AccountTokens = ReturnType<typeof createAccountTokens>;

/** How often the rule is applied again because another process has changed the record. */
const MAX_STEPS = 4;
/** Seconds for which tokens are used that could not be refreshed ahead of their expiry. */
const RETRY_AHEAD_AFTER = 5;

/** What is known of an account: usable until then, or changed, so that the rule has to be applied again; `null`: it has ended. */
type Known = { readonly account: ConnectedAccountRecord; readonly until: number | null } | null;

export function createAccountTokens(context: BackendContext, vault: TokenVault, records: AccountRecords) {
  const { store, clock } = context;
  const refresher = createTokenRefresher(context, vault, records);
  const { save } = createAccountStorage(context, vault);
  const finding = createSingleFlight<ConnectedAccountTokens | null>(context.options.outbound.timeout);

  async function apply(account: ConnectedAccountRecord): Promise<Known> {
    const next = nextRefreshAction(account, clock());
    if (next.action === 'use') return { account, until: next.until };
    if (next.action === 'end') return changedBy(await refresher.end(account, next.reason), account);
    const backend = records.findIssuer(account);
    if (backend === undefined) return null;
    const refresh = await refresher.refresh(account, backend);
    if (next.action === 'refresh' || refresh.kind !== 'later') return changedBy(refresh, account);
    // The access token has not expired.
    const until = Math.min(clock() + RETRY_AHEAD_AFTER, account.expiresAt ?? Number.MAX_SAFE_INTEGER);
    return { account, until };
  }

  async function read(
    account: ConnectedAccountRecord,
    until: number,
  ): Promise<ConnectedAccountTokens | null> {
    const { scopes, version, checkedAt } = account;
    const tokens = await open(account);
    return tokens && { tokens, scopes, version, until, issuedAt: checkedAt };
  }

  /**
   * The tokens, for the backend that they were issued for; `null`: it was removed, or is another server now. Nothing is revoked: that
   * may be a configuration mistake.
   */
  async function open(account: ConnectedAccountRecord): Promise<BackendTokenSet | null> {
    const { encryptedTokens } = account;
    if (encryptedTokens === null) return null;
    const tokens = await vault.decrypt<BackendTokenSet>(encryptedTokens, accountContext(account));
    // After the last wait: the configuration may change meanwhile.
    return records.findIssuer(account)?.isIssuerOf(tokens) === true ? tokens : null;
  }

  async function findUsable(key: ConnectedAccountKey): Promise<ConnectedAccountTokens | null> {
    let account = await store.findConnectedAccount(key);
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      if (account === null || (await open(account)) === null) return null;
      const known: Known = await apply(account);
      if (known === null) return null;
      if (known.until !== null) return read(known.account, known.until);
      account = known.account;
    }
    throw temporarilyUnavailable(`account of ${key.grantId} at ${key.backend}: changed again and again`);
  }

  return {
    save,
    /** Resolves when no refresh is in progress, whose response would be lost. */
    whenIdle: refresher.whenIdle,
    /**
     * The tokens of a grant at a backend, refreshed if they are about to expire; `null`: none, or they have ended.
     * @throws OAuthError `temporarily_unavailable` while the backend's authorization server or the store is unavailable
     */
    find: (grantId: string, backend: string): Promise<ConnectedAccountTokens | null> =>
      finding.run(JSON.stringify([grantId, backend]), () => findUsable({ grantId, backend })),
    /** The tokens that take the place of rejected ones: refreshed, or `null` if they cannot be. @param version that was rejected */
    async replace(grantId: string, backend: string, version: number): Promise<ConnectedAccountTokens | null> {
      const account = await store.findConnectedAccount({ grantId, backend });
      if (account === null || account.endedAt !== null || (await open(account)) === null) return null;
      if (account.version !== version) return read(account, clock());
      const issuer = records.findIssuer(account);
      const known =
        issuer === undefined ? null : changedBy(await refresher.replace(account, issuer), account);
      return known && read(known.account, clock());
    },
  };
}

function changedBy(
  refresh: TokenRefresh<ConnectedAccountRecord>,
  { backend }: ConnectedAccountRecord,
): Known {
  if (refresh.kind === 'refreshed') return { account: refresh.tokens, until: null };
  if (refresh.kind === 'ended') return null;
  throw temporarilyUnavailable(`${backend}: ${refresh.reason}`, refresh.retryAfter);
}

function createAccountStorage(context: BackendContext, vault: TokenVault) {
  const { store, events, clock } = context;

  async function createRecord(
    key: ConnectedAccountKey,
    accountId: string,
    response: BackendTokenResponse,
  ): Promise<ConnectedAccountRecord> {
    const owner = { grantId: key.grantId, accountId };
    const tokens = await encryptUpstreamTokens(context, vault, owner, response, accountContext(key));
    return { ...tokens, backend: key.backend, connection: newSecret() };
  }

  return {
    /**
     * Saves the tokens of a new connection. If the transaction or the grant is gone, they are revoked at the backend.
     * @param transactionId `null`: the grant exists
     */
    async save(
      owner: { readonly grantId: string; readonly accountId: string; readonly backend: UserBackend },
      response: BackendTokenResponse,
      transactionId: string | null,
    ): Promise<boolean> {
      const { grantId, accountId } = owner;
      const backend = owner.backend.id;
      const account = await createRecord({ grantId, backend }, accountId, response);
      // Point of no return: these tokens take the place of earlier ones.
      if (await store.saveConnectedAccount(account, transactionId)) {
        events({
          type: 'provider_token.stored',
          backend,
          accountId,
          grantId,
          ...(transactionId !== null && { transactionId }),
        });
        return true;
      }
      // Under a grant of its own, which never exists, so that it cannot be confused with a connection.
      const discarded = { grantId: newIdentifier('grant'), backend };
      const unused = await createRecord(discarded, accountId, response);
      await store.saveEndedConnectedAccount(discardedTokens(unused, clock()));
      events({ type: 'provider_token.discarded', backend, accountId });
      return false;
    },
  };
}

interface AccountRecords extends TokenRecords<ConnectedAccountRecord, BackendTokenSet> {
  findIssuer(account: ConnectedAccountRecord): UserBackend | undefined;
}

/** The encryption context of an account's tokens. */
function accountContext({ grantId, backend }: ConnectedAccountKey): string {
  return `provider tokens ${grantId} ${backend}`;
}

export function createAccountRecords(store: ConnectedAccountStore, backends: UserBackends): AccountRecords {
  return {
    keyOf: ({ grantId, backend }) => JSON.stringify([grantId, backend]),
    encryptionContext: accountContext,
    about: ({ grantId, accountId, backend }) => ({ backend, grantId, accountId }),
    findIssuer: ({ backend }) => backends.find(backend),
    find: store.findConnectedAccount,
    lease: (account, ...lease) => store.leaseConnectedAccount(account, account.version, ...lease),
    saveRefreshed: store.saveRefreshedConnectedAccount,
    release: store.releaseConnectedAccount,
    end: (account, ...ended) => store.endConnectedAccount(account, account.version, ...ended),
    isShared: async () => false,
    endOfRevokedGrants: store.endConnectedAccountsOfRevokedGrants,
    claimRevocations: store.claimAccountRevocations,
    postponeRevocation: store.postponeAccountRevocation,
    completeRevocation: (account) => store.completeAccountRevocation(account, account.version),
  };
}
