/** Connected accounts as refresh and revocation see them. */
import type { TokenRecords } from '../federation/token-records.ts';
import type { ConnectedAccountKey, ConnectedAccountRecord, ConnectedAccountStore } from '../store/index.ts';
import type { BackendTokenSet, UserBackends } from './backend.ts';

export type AccountRecords = TokenRecords<ConnectedAccountRecord, BackendTokenSet>;

/** The encryption context of an account's tokens. */
export function accountContext({ grantId, backend }: ConnectedAccountKey): string {
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
