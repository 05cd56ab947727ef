/** The type of options for a store: what needs a capability that it lacks has to be switched off. */
import type { AuthorizationServerOptions } from './options.ts';
import type { AuditStore } from './store/audit.ts';
import type { ConnectedAccountStore } from './store/connected-accounts.ts';
import type { CoreStore } from './store/core.ts';
import type { DeviceAuthorizationStore } from './store/device-authorizations.ts';
import type { FederationStore } from './store/federation.ts';
import type { ManagedGrantStore } from './store/managed-grants.ts';
import type { MfaStore } from './store/mfa.ts';
import type { PersonalAccessTokenStore } from './store/personal-access-tokens.ts';
import type { RegistrationStore } from './store/registration.ts';
import type { StatusListStore } from './store/status-lists.ts';
import type { UserStore } from './store/users.ts';

/** The options of a server with the store `S`: whatever needs a capability that `S` lacks has to be switched off. */
export type OptionsForStore<S extends CoreStore> = Omit<AuthorizationServerOptions, 'store'> & {
  readonly store: S;
} & (S extends UserStore ? unknown : WithoutUsers) &
  (S extends MfaStore ? unknown : { readonly localAccounts: false }) &
  (S extends FederationStore ? unknown : { readonly identityProviders?: readonly [] }) &
  (S extends UserStore & FederationStore & ConnectedAccountStore
    ? unknown
    : { readonly backends?: undefined }) &
  (S extends RegistrationStore ? unknown : WithoutRegistration) &
  (S extends AuditStore ? unknown : { readonly auditRetention: false }) &
  (S extends PersonalAccessTokenStore ? unknown : { readonly personalAccessTokens?: false }) &
  (S extends UserStore & FederationStore & ManagedGrantStore ? unknown : WithoutAssertedUsers) &
  (S extends DeviceAuthorizationStore ? unknown : { readonly deviceAuthorization?: false }) &
  (S extends StatusListStore ? unknown : { readonly statusLists?: false });

interface WithoutUsers {
  readonly localAccounts: false;
  readonly identityProviders?: readonly [];
}

interface WithoutAssertedUsers {
  readonly assertionIssuers?: readonly { readonly use: 'workload' }[];
}

interface WithoutRegistration {
  readonly registration: false;
  readonly metadataDocuments: false;
}
