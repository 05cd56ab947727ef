/** The options of an authorization server: joins what the slices declare, and checks the rules between options once, at startup. */
import { findSimilarName, suggestName } from '@portcullis/protocol';
import * as z from 'zod';
import { approvalOptions } from './approvals/options.ts';
import { validateAssertionIssuers } from './assertions/assertion-issuers.ts';
import { type AssertionOptions, assertionOptions } from './assertions/options.ts';
import { auditOptions } from './audit/options.ts';
import { type AuthorizationOptions, authorizationOptions } from './authorization/options.ts';
import { validateClients } from './clients/client-options.ts';
import { createRedirectPolicy } from './clients/known-hosts.ts';
import { validateDocuments } from './clients/metadata-document/options.ts';
import { createOutbound } from './clients/metadata-document/outbound-settings.ts';
import { type ClientPolicyOptions, clientPolicyOptions } from './clients/options.ts';
import { validateRegistration } from './clients/registration-options.ts';
import { type BackendOptions, backendOptions } from './connected-accounts/options.ts';
import { consentOptions } from './consent/options.ts';
import { type CoreOptions, coreOptions, lifetimeOptions } from './core-options.ts';
import { deviceOptions } from './device/options.ts';
import { dpopOptions } from './dpop/options.ts';
import { encryptionOptions } from './encryption/options.ts';
import type { FederationOptions } from './federation/provider/identity-provider.ts';
import { identityProviderOptions } from './federation/provider/options.ts';
import { validateIdentityProviders } from './federation/provider/validate-identity-providers.ts';
import { type CheckedKeyOptions, keyOptions, validateKeyOptions } from './keys/options.ts';
import { mailOptions } from './mail/options.ts';
import {
  type GivenOptions,
  type OptionDefinition,
  option,
  optionMeta,
  type ParsedOf,
} from './option-schema/fields.ts';
import { createOptionReport, type OptionReport, readOption, throwIssues } from './option-schema/reader.ts';
import { personalAccessTokenOptions } from './personal-access-tokens/options.ts';
import { rateLimitOptions } from './rate-limit/options.ts';
import {
  areScopesRead,
  type CheckedResourceOptions,
  checkNamedClients,
  resourceOptions,
  validateResources,
} from './resources/options.ts';
import type { ApprovalStore } from './store/approvals.ts';
import type { AuditStore } from './store/audit.ts';
import { checkCapabilities, readCapabilities } from './store/capabilities.ts';
import type { ConnectedAccountStore } from './store/connected-accounts.ts';
import type { DeviceAuthorizationStore } from './store/device-authorizations.ts';
import type { FederationStore } from './store/federation.ts';
import type { AuthorizationStore, CoreStore } from './store/index.ts';
import type { ManagedGrantStore } from './store/managed-grants.ts';
import type { MfaStore } from './store/mfa.ts';
import type { PersonalAccessTokenStore } from './store/personal-access-tokens.ts';
import type { RegistrationStore } from './store/registration.ts';
import type { UserStore } from './store/users.ts';
import { tokenOptions } from './token/options.ts';
import { type Brand, brandOptions, createBrand } from './ui/brand.ts';
import { userOptions } from './users/options.ts';

const storeOptions = {
  /** Where clients, grants, keys and accounts are stored, for example `openStore` of `@portcullis/store`. Its owner closes it. */
  store: option(
    () =>
      z
        .custom<AuthorizationStore>((value) => typeof value === 'object' && value !== null)
        .register(optionMeta, { kind: 'a store' }),
    { isRequired: true },
  ),
};

/** Every option, in the order in which issues are reported. */
export const optionDefinitions = {
  ...coreOptions,
  ...storeOptions,
  ...encryptionOptions,
  ...resourceOptions,
  ...clientPolicyOptions,
  ...brandOptions,
  ...authorizationOptions,
  ...consentOptions,
  ...identityProviderOptions,
  ...assertionOptions,
  ...backendOptions,
  ...approvalOptions,
  ...mailOptions,
  ...userOptions,
  ...lifetimeOptions,
  ...keyOptions,
  ...tokenOptions,
  ...personalAccessTokenOptions,
  ...deviceOptions,
  ...dpopOptions,
  ...rateLimitOptions,
  ...auditOptions,
};

type Definitions = typeof optionDefinitions;

/** Options of `createAuthorizationServer`; docs/configuration.md describes them. */
export interface AuthorizationServerOptions extends GivenOptions<Definitions> {}

/** The options of a server with the store `S`: whatever needs a capability that `S` lacks has to be switched off. */
export type OptionsForStore<S extends CoreStore> = Omit<AuthorizationServerOptions, 'store'> & {
  readonly store: S;
} & (S extends UserStore ? unknown : WithoutUsers) &
  (S extends MfaStore ? unknown : { readonly localAccounts: false }) &
  (S extends FederationStore ? unknown : { readonly identityProviders?: readonly [] }) &
  (S extends UserStore & FederationStore & ConnectedAccountStore
    ? unknown
    : { readonly backends?: undefined }) &
  (S extends UserStore & ApprovalStore ? unknown : { readonly approvals?: false }) &
  (S extends RegistrationStore ? unknown : WithoutRegistration) &
  (S extends AuditStore ? unknown : { readonly auditRetention: false }) &
  (S extends PersonalAccessTokenStore ? unknown : { readonly personalAccessTokens?: false }) &
  (S extends UserStore & FederationStore & ManagedGrantStore ? unknown : WithoutAssertedUsers) &
  (S extends DeviceAuthorizationStore ? unknown : { readonly deviceAuthorization?: false });

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

/** Options with their defaults, before the rules between them are checked. */
interface ParsedOptions extends ParsedOf<Definitions> {}

/** Validated options, with defaults: what the slices read. */
export interface ServerOptions
  extends CoreOptions,
    AssertionOptions,
    AuthorizationOptions,
    BackendOptions,
    CheckedKeyOptions,
    ClientPolicyOptions,
    FederationOptions,
    CheckedResourceOptions,
    Pick<ParsedOptions, Exclude<SwitchName, 'events'>> {
  readonly brand: Brand;
}

/** Options that their slice reads as they are. */
type SwitchName = keyof (typeof approvalOptions &
  typeof auditOptions &
  typeof consentOptions &
  typeof deviceOptions &
  typeof dpopOptions &
  typeof mailOptions &
  typeof personalAccessTokenOptions &
  typeof tokenOptions &
  typeof userOptions);

/**
 * Validates the options.
 * @throws ConfigurationError with every issue
 */
export function validateOptions(
  options: Omit<AuthorizationServerOptions, 'store'> & { readonly store: CoreStore },
): ServerOptions {
  const report = createOptionReport();
  const { store: _store, events: _events, clock: _clock, ...parsed } = parseOptions({ ...options }, report);
  const servesUsers = readCapabilities(options.store).has('users');
  for (const { option: name, message } of checkCapabilities(parsed, options.store))
    report.add([name], message);
  const ruled = applyRules(parsed, report, servesUsers);
  throwIssues(report);
  return Object.freeze<ServerOptions>({
    ...parsed,
    ...ruled,
    servesUsers,
    name: parsed.name ?? new URL(parsed.issuer).host,
    backends: parsed.backends ?? null,
    workspaces: parsed.workspaces ?? (async () => []),
    rateLimits: parsed.rateLimits === false ? null : parsed.rateLimits,
  });
}

/** Reads each option by its schema and fills in the defaults. */
function parseOptions(
  options: Readonly<Partial<Record<string, unknown>>>,
  report: OptionReport,
): ParsedOptions {
  const parsed: Partial<Record<string, unknown>> = {};
  for (const [name, definition] of Object.entries<OptionDefinition>(optionDefinitions)) {
    const { schema, isRequired = false, default: value } = definition;
    const given = options[name];
    if (given !== undefined) parsed[name] = readOption(schema(), given, [name], report) ?? value;
    else if (!isRequired) parsed[name] = value;
    else if (!report.isUnread(name)) report.add([name], 'is required');
  }
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(optionDefinitions, name)) continue;
    report.add([name], `unknown option; ${suggestName(name, Object.keys(optionDefinitions))}`);
    const meant = findSimilarName(name, Object.keys(optionDefinitions));
    if (meant !== null) report.markUnread([meant]);
  }
  return parsed as unknown as ParsedOptions;
}

/** Options that the rules read: all but those that only code can set. */
type RuledOptions = Omit<
  ParsedOptions,
  'store' | 'masterKey' | 'previousMasterKeys' | 'events' | 'clock' | 'workspaces' | 'backends'
>;

/** Checks the rules between options. What could not be read is left out. */
export function applyRules(options: RuledOptions, report: OptionReport, servesUsers = true) {
  const { lifetimes } = options;
  const redirects = createRedirectPolicy(options.privateUseSchemes, options.issuer);
  const definitions = options.resources ?? [];
  const resources = validateResources(definitions, report);
  const scopes = areScopesRead(definitions, report)
    ? new Set(definitions.flatMap((definition) => Object.keys(definition.scopes)))
    : null;
  const clients = validateClients(options.clients, redirects, scopes, report);
  checkNamedClients(definitions, clients, report);
  const outbound = createOutbound(options.outbound, namedHosts(options.metadataDocuments));
  const known = { issuer: options.issuer, scopes, clients };
  return {
    assertionIssuers: validateAssertionIssuers(options.assertionIssuers, known, report),
    keys: validateKeyOptions(options.keys, lifetimes, report),
    resources,
    clients,
    registration: validateRegistration(options.registration, report),
    metadataDocuments: validateDocuments(
      options.metadataDocuments,
      { redirects, loopback: outbound.loopback },
      report,
    ),
    outbound,
    brand: createBrand(options.brand, report),
    identityProviders: validateIdentityProviders(
      // Without users, there is no login.
      { ...options, localAccounts: options.localAccounts || !servesUsers, resources: definitions },
      report,
    ),
    redirects,
  };
}

/** Hosts of metadata documents that the operator named. */
function namedHosts(documents: RuledOptions['metadataDocuments']): readonly string[] {
  return typeof documents === 'boolean' ? [] : (documents.hosts ?? []);
}
