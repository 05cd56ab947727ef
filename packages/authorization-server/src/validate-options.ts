/** Validates the options of an authorization server once, at startup, and reports every issue together. */
import { validateAssertionIssuers } from './assertions/assertion-issuers.ts';
import { validateClients } from './clients/client-options.ts';
import { createRedirectPolicy } from './clients/known-hosts.ts';
import { validateDocuments } from './clients/metadata-document/document-options.ts';
import { createOutbound } from './clients/metadata-document/outbound-settings.ts';
import { validateRegistration } from './clients/registration-options.ts';
import { validateExternalUi } from './external-ui/external-ui-options.ts';
import { validateIdentityProviders } from './federation/provider/validate-identity-providers.ts';
import { validateKeyOptions } from './keys/key-options.ts';
import { createOptionReport, type OptionReport, throwIssues } from './option-schema.ts';
import type { AuthorizationServerOptions, ServerOptions } from './options.ts';
import { type ParsedOptions, parseOptions } from './options-schema.ts';
import { areScopesRead, checkNamedClients, validateResources } from './resource-options.ts';
import { checkCapabilities, readCapabilities } from './store/capabilities.ts';
import type { CoreStore } from './store/index.ts';
import { createBrand } from './ui/brand.ts';

/**
 * Validates the options.
 * @throws ConfigurationError with every issue
 */
export function validateOptions(
  options: Omit<AuthorizationServerOptions, 'store'> & { readonly store: CoreStore },
): ServerOptions {
  const report = createOptionReport();
  const parsed = parseOptions({ ...options }, report);
  const { issuer, name, masterKey, previousMasterKeys, profiles, metadata, localAccounts } = parsed;
  const { statusLists, lifetimes, acceptNewerRefreshTokens, workspaces, rateLimits, auditRetention } = parsed;
  const servesUsers = readCapabilities(options.store).has('users');
  for (const { option, message } of checkCapabilities(options, options.store)) report.add([option], message);
  const validated = applyRules(parsed, report, servesUsers);
  throwIssues(report);
  return Object.freeze<ServerOptions>({
    ...{ issuer, masterKey, previousMasterKeys, profiles, metadata, localAccounts, statusLists },
    ...{ lifetimes, acceptNewerRefreshTokens, auditRetention, auditLevel: parsed.auditLevel, servesUsers },
    ...validated,
    name: name ?? new URL(issuer).host,
    backends: parsed.backends ?? null,
    workspaces: workspaces ?? (async () => []),
    offerOtherScopes: parsed.offerOtherScopes,
    personalAccessTokens: parsed.personalAccessTokens,
    deviceAuthorization: parsed.deviceAuthorization,
    assertionAudiences: parsed.assertionAudiences,
    requireDpopNonces: parsed.requireDpopNonces,
    rateLimits: rateLimits === false ? null : rateLimits,
  });
}

/** Options that rules across several options decide. */
type Validated = Pick<
  ServerOptions,
  | 'assertionIssuers'
  | 'keys'
  | 'resources'
  | 'clients'
  | 'registration'
  | 'metadataDocuments'
  | 'outbound'
  | 'brand'
  | 'externalUi'
  | 'identityProviders'
  | 'redirects'
>;

/** Options that the rules read: all but those that only code can set. */
export type RuledOptions = Omit<
  ParsedOptions,
  'store' | 'masterKey' | 'previousMasterKeys' | 'events' | 'clock' | 'workspaces' | 'backends'
>;

/** Checks the rules between options. What could not be read is left out. */
export function applyRules(options: RuledOptions, report: OptionReport, servesUsers = true): Validated {
  const { lifetimes } = options;
  if (options.statusLists && lifetimes.accessToken > MAX_STATUS_SECONDS) {
    report.add(
      ['statusLists'],
      `must be false with lifetimes.accessToken above ${MAX_STATUS_SECONDS} seconds: statuses are kept for a day`,
    );
  }
  const redirects = createRedirectPolicy(options.privateUseSchemes, options.issuer);
  const definitions = options.resources ?? [];
  const resources = validateResources(definitions, report);
  const scopes = areScopesRead(definitions, report)
    ? new Set(definitions.flatMap((definition) => Object.keys(definition.scopes)))
    : null;
  const clients = validateClients(options.clients, redirects, scopes, report);
  checkNamedClients(definitions, clients, report);
  const outbound = createOutbound(options.outbound, namedHosts(options.metadataDocuments));
  const externalUi = validateExternalUi(options.externalUi, report);
  if (externalUi !== null && externalUi.loginUrl !== null && options.identityProviders.length > 0) {
    report.add(['externalUi', 'loginUrl'], 'must not be combined with identityProviders');
  }
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
    externalUi,
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

/** A status is kept for a day after its token expired. */
const MAX_STATUS_SECONDS = 43_200;
