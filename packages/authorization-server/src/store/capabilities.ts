/** Capabilities of a store: which it has, which options need them, and how a missing one is represented. */
import type { AuthorizationStore, CoreStore, StoreCapabilities } from './core.ts';

/** The name of an optional capability of a store. */
export type StoreCapability = keyof StoreCapabilities;

const UNAVAILABLE: unique symbol = Symbol('unavailable');

/** What each method of a missing capability returns: what it would for an empty table, or an error. */
type AbsentResults<Store> = {
  readonly [Method in keyof Store]:
    | (Store[Method] extends (...given: never) => Promise<infer Result> ? Result : never)
    | typeof UNAVAILABLE;
};

const absentResults: { readonly [C in StoreCapability]: AbsentResults<StoreCapabilities[C]> } = {
  users: {
    hasLocalAccounts: false,
    findAccount: null,
    findAccountByEmail: null,
    findAccountsByVerifiedEmail: [],
    findProfile: null,
    saveProfile: false,
    listProfileGroups: [],
    saveSetupLink: UNAVAILABLE,
    isSetupLink: false,
    createFirstAccount: UNAVAILABLE,
    createAccount: UNAVAILABLE,
    listAccounts: [],
    disableAccount: false,
    enableAccount: false,
    setAccountRole: false,
    removeAccount: false,
    saveAccountLink: UNAVAILABLE,
    findAccountLink: null,
    redeemAccountLink: false,
    replacePasswordHash: UNAVAILABLE,
    changePassword: false,
    saveSession: UNAVAILABLE,
    findSession: null,
    listSessions: [],
    endSession: undefined,
    endSessions: 0,
    endProviderSessions: [],
  },
  mfa: {
    findTotpFactor: null,
    listTotpFactors: [],
    reencryptTotpFactor: false,
    saveTotpFactor: UNAVAILABLE,
    consumeTotpStep: false,
    consumeRecoveryCode: false,
    replaceRecoveryCodes: false,
    countRecoveryCodes: 0,
    removeTotpFactor: false,
    addPasskey: UNAVAILABLE,
    findPasskey: null,
    listPasskeys: [],
    recordPasskeyUse: false,
    removePasskey: false,
  },
  federation: {
    setTransactionIdentityProvider: UNAVAILABLE,
    saveFederatedLogin: UNAVAILABLE,
    findFederatedLogin: null,
    consumeFederatedLogin: false,
    findLinkedIdentity: null,
    findLinkedIdentityByAccount: null,
    linkIdentity: UNAVAILABLE,
    saveProviderTokens: UNAVAILABLE,
    saveEndedProviderTokens: UNAVAILABLE,
    hasProviderTokens: false,
    findProviderTokens: null,
    listProviderTokens: [],
    recordProviderTokensCheck: UNAVAILABLE,
    leaseProviderTokens: false,
    saveRefreshedProviderTokens: UNAVAILABLE,
    releaseProviderTokens: UNAVAILABLE,
    endProviderTokens: false,
    countProviderTokensOfIdentity: 0,
    endProviderTokensOfRevokedGrants: 0,
    claimRevocationJobs: [],
    postponeRevocationJob: UNAVAILABLE,
    completeRevocationJob: UNAVAILABLE,
    listDataKeys: [],
    addDataKey: UNAVAILABLE,
    reencryptDataKeys: true,
    removeUnusedDataKeys: 0,
    discardDataKeys: 0,
  },
  connectedAccounts: {
    saveConnectedAccount: UNAVAILABLE,
    saveEndedConnectedAccount: UNAVAILABLE,
    hasConnectedAccounts: false,
    findConnectedAccount: null,
    listConnectedAccounts: [],
    leaseConnectedAccount: false,
    saveRefreshedConnectedAccount: UNAVAILABLE,
    releaseConnectedAccount: UNAVAILABLE,
    endConnectedAccount: false,
    endConnectedAccountsOfRevokedGrants: 0,
    claimAccountRevocations: [],
    postponeAccountRevocation: UNAVAILABLE,
    completeAccountRevocation: UNAVAILABLE,
    listBackendRegistrations: [],
    saveBackendRegistration: UNAVAILABLE,
    removeBackendRegistration: UNAVAILABLE,
  },
  registration: {
    registerClient: UNAVAILABLE,
    countUnusedClients: 0,
    countUnusedClientsByNetwork: new Map(),
    saveInitialAccessToken: UNAVAILABLE,
    findInitialAccessToken: null,
    listInitialAccessTokens: [],
    registerClientWithInitialAccessToken: UNAVAILABLE,
    revokeInitialAccessToken: 'unknown',
    findClientMetadataDocument: null,
    saveClientMetadataDocument: UNAVAILABLE,
    listClientMetadataDocuments: [],
    saveClientMetadataDocumentVerification: false,
    recordClientMetadataDocumentUse: UNAVAILABLE,
  },
  audit: {
    appendEvents: UNAVAILABLE,
    beforeCommit: UNAVAILABLE,
    listEvents: [],
    listLatestEvents: [],
    searchEvents: [],
    listTransactionEvents: [],
  },
  personalAccessTokens: {
    savePersonalAccessToken: UNAVAILABLE,
    findPersonalAccessToken: null,
    recordPersonalAccessTokenUse: undefined,
  },
  deviceAuthorizations: {
    saveDeviceAuthorization: UNAVAILABLE,
    findDeviceAuthorizationByUserCode: null,
    findDeviceAuthorization: null,
    decideDeviceAuthorization: false,
    recordDevicePoll: UNAVAILABLE,
  },
  managedGrants: {
    findAssertedIdentity: null,
    linkAssertedIdentity: UNAVAILABLE,
    saveManagedGrant: UNAVAILABLE,
  },
  approvals: {
    requestApproval: UNAVAILABLE,
    findApprovalOfCall: null,
    findApproval: null,
    listPendingApprovals: [],
    countPendingApprovals: 0,
    decideApproval: false,
    consumeApprovals: false,
  },
  provisioning: {
    saveProvisioningToken: UNAVAILABLE,
    findProvisioningToken: null,
    listProvisioningTokens: [],
    revokeProvisioningToken: false,
    createProvisioned: UNAVAILABLE,
    changeProvisioned: UNAVAILABLE,
    removeProvisioned: false,
    findProvisioned: null,
    listProvisioned: [],
    countProvisioned: 0,
    listProvisionedMembers: [],
    listProvisionedGroups: [],
    linkProvisionedAccount: false,
  },
};

const capabilityNames = Object.keys(absentResults) as readonly StoreCapability[];

/** The methods of a capability that a store lacks; none: it has the capability. */
function missingMethods(store: CoreStore, capability: StoreCapability): readonly string[] {
  const methods = Object.keys(absentResults[capability]);
  return methods.filter(
    (method) => typeof (store as object as Record<string, unknown>)[method] !== 'function',
  );
}

/** The capabilities of a store: those of which it implements every method. */
export function readCapabilities(store: CoreStore): ReadonlySet<StoreCapability> {
  return new Set(capabilityNames.filter((capability) => missingMethods(store, capability).length === 0));
}

/** What of the options decides which capabilities are needed. */
interface Given {
  readonly localAccounts: boolean;
  readonly identityProviders: readonly ({ readonly scim?: unknown } | undefined)[];
  readonly registration: unknown;
  readonly metadataDocuments: unknown;
  readonly auditRetention: number | false;
  readonly personalAccessTokens: boolean;
  readonly deviceAuthorization: boolean;
  readonly assertionIssuers: readonly { readonly use: string }[];
  readonly backends: object | undefined;
  readonly approvals: boolean;
}

/** The capabilities that an option needs as it is set. */
type Requirement<T> = (value: T) => readonly StoreCapability[];

const ifTrue =
  (...needs: readonly StoreCapability[]): Requirement<boolean> =>
  (value) =>
    value ? needs : [];
const unlessFalse =
  (...needs: readonly StoreCapability[]): Requirement<unknown> =>
  (value) =>
    value === false ? [] : needs;

/** What each option needs while it is on. */
const REQUIREMENTS: { readonly [Option in keyof Given]: Requirement<Given[Option]> } = {
  localAccounts: ifTrue('users', 'mfa'),
  identityProviders: (providers) => [
    ...(providers.length > 0 ? (['users', 'federation'] as const) : []),
    ...(providers.some((provider) => provider?.scim !== undefined) ? (['provisioning'] as const) : []),
  ],
  backends: (backends) => (backends === undefined ? [] : ['users', 'federation', 'connectedAccounts']),
  approvals: ifTrue('users', 'approvals'),
  registration: unlessFalse('registration'),
  metadataDocuments: unlessFalse('registration'),
  auditRetention: unlessFalse('audit'),
  personalAccessTokens: ifTrue('users', 'personalAccessTokens'),
  deviceAuthorization: ifTrue('users', 'deviceAuthorizations'),
  assertionIssuers: (issuers) =>
    issuers.some((issuer) => issuer?.use === 'id-jag') ? ['users', 'federation', 'managedGrants'] : [],
};

function needsOf<Option extends keyof Given>(option: Option, options: Given): readonly StoreCapability[] {
  const needs: Requirement<Given[Option]> = REQUIREMENTS[option];
  return needs(options[option]);
}

/** Checks that a store has the capabilities that the options need. @returns one issue for each that is missing */
export function checkCapabilities(
  options: Given,
  store: CoreStore,
): readonly { readonly option: string; readonly message: string }[] {
  return (Object.keys(REQUIREMENTS) as readonly (keyof Given)[]).flatMap((option) =>
    needsOf(option, options).flatMap((capability) => {
      const missing = missingMethods(store, capability);
      if (missing.length === 0) return [];
      const first = missing.slice(0, 3).join(', ') + (missing.length > 3 ? ', …' : '');
      return { option, message: `needs a store with ${capability}: this one lacks ${first}` };
    }),
  );
}

/** A store with every method: those of a missing capability behave as for empty tables, or reject. */
export function completeStore(store: CoreStore): AuthorizationStore {
  const missing = capabilityNames.filter((capability) => missingMethods(store, capability).length > 0);
  if (missing.length === 0) return store as AuthorizationStore;
  const absent = missing.flatMap((capability) =>
    Object.entries(absentResults[capability]).map(
      ([method, result]) => [method, absentMethod(capability, method, result)] as const,
    ),
  );
  return Object.assign(Object.create(store), Object.fromEntries(absent)) as AuthorizationStore;
}

function absentMethod(capability: string, method: string, result: unknown): () => Promise<unknown> {
  return async () => {
    if (result === UNAVAILABLE) throw new Error(`The store has no ${capability}: it lacks ${method}.`);
    return result;
  };
}
