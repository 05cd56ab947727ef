/** The names of all options of an authorization server: any other is refused, for a rule that is spelled wrong would protect nothing. */
import { type OptionNames, unknownOptionIssues } from '@portcullis/protocol/option-names';
import type { DocumentOptions } from './clients/metadata-document/document-options.ts';
import type { OutboundSettings } from './clients/metadata-document/outbound-settings.ts';
import type { RegistrationOptions } from './clients/registration-options.ts';
import type { ExternalUiOptions } from './external-ui/external-ui-options.ts';
import type { ClientKeyOptions } from './federation/client-key.ts';
import type { AllowedUsers, IdentityProviderOptions } from './federation/provider-options.ts';
import type { KeyOptions } from './keys/key-options.ts';
import { defaultLifetimes } from './lifetimes.ts';
import type { AuthorizationServerOptions, ResourceDefinition } from './options.ts';
import { defaultRateLimits, type RateLimitOptions } from './rate-limit/policies.ts';
import type { BrandOptions, Link } from './ui/brand.ts';

const OPTIONS: OptionNames<AuthorizationServerOptions> = {
  ...{ issuer: true, name: true, store: true, masterKey: true, previousMasterKeys: true, keys: true },
  ...{
    statusLists: true,
    resources: true,
    clients: true,
    profiles: true,
    metadata: true,
    registration: true,
  },
  ...{
    metadataDocuments: true,
    outbound: true,
    brand: true,
    externalUi: true,
    workspaces: true,
  },
  ...{
    identityProviders: true,
    localAccounts: true,
    lifetimes: true,
    privateUseSchemes: true,
    rateLimits: true,
  },
  ...{ auditRetention: true, events: true, clock: true },
};

const RESOURCE: OptionNames<ResourceDefinition> = {
  ...{
    resource: true,
    name: true,
    scopes: true,
    translations: true,
    defaultScopes: true,
    requiredScopes: true,
  },
  ...{
    hierarchy: true,
    accessTokens: true,
    introspectionClients: true,
    tokenExchangeClients: true,
    revocationDelay: true,
  },
};

const THIRD_PARTY: OptionNames<IdentityProviderOptions> = {
  ...{
    id: true,
    name: true,
    clientId: true,
    clientSecret: true,
    clientKey: true,
    clientAuthentication: true,
  },
  ...{
    responseMode: true,
    scopes: true,
    upstreamScopes: true,
    kind: true,
    parameters: true,
    allowedUsers: true,
  },
  ...{ status: true, statusCheckInterval: true, revocationEnds: true },
};
const CLIENT_KEY: OptionNames<ClientKeyOptions> = {
  ...{ key: true, id: true, certificate: true, algorithm: true, audience: true, signer: true },
};
const USERS: OptionNames<AllowedUsers> = { subjects: true, emailDomains: true, claims: true };

const KEYS: OptionNames<KeyOptions> = { algorithm: true, rotateEvery: true, prepublish: true };
const REGISTRATION: OptionNames<RegistrationOptions> = {
  ...{
    initialAccessTokens: true,
    requireInitialAccessToken: true,
    scope: true,
    maxUnusedClients: true,
    management: true,
  },
};
const DOCUMENTS: OptionNames<DocumentOptions> = { hosts: true, refusedHosts: true };
const OUTBOUND: OptionNames<OutboundSettings> = { fetch: true, allowLoopback: true, timeout: true };
const HEADLESS: OptionNames<ExternalUiOptions> = {
  ...{ loginUrl: true, consentUrl: true, secrets: true, createAccounts: true },
};
const BRAND: OptionNames<BrandOptions> = { logo: true, accent: true, texts: true, links: true };
const ACCENT: OptionNames<NonNullable<BrandOptions['accent']>> = { light: true, dark: true };
const LINK: OptionNames<Link> = { label: true, href: true };
const RATE: OptionNames<NonNullable<RateLimitOptions['refreshes']>> = { burst: true, perMinute: true };

/** Faults of names, in the options and in what they hold. What clients are is judged as metadata of clients is. */
export function issuesOfNames(options: Partial<AuthorizationServerOptions>): readonly string[] {
  const { resources = [], identityProviders = [], rateLimits: limits = {}, brand = {} } = options;
  return [
    ...unknownOptionIssues(options, OPTIONS),
    ...resources.flatMap((resource, index) => unknownOptionIssues(resource, RESOURCE, `resources.${index}.`)),
    ...identityProviders.flatMap((identityProvider, index) =>
      issuesOfIdentityProvider(identityProvider, `identityProviders.${index}.`),
    ),
    ...unknownOptionIssues(options.keys, KEYS, 'keys.'),
    ...unknownOptionIssues(options.lifetimes, namesOf(defaultLifetimes), 'lifetimes.'),
    ...unknownOptionIssues(limits, namesOf(defaultRateLimits), 'rateLimits.'),
    ...Object.entries(limits).flatMap(([name, rate]) =>
      unknownOptionIssues(rate, RATE, `rateLimits.${name}.`),
    ),
    ...unknownOptionIssues(options.registration, REGISTRATION, 'registration.'),
    ...unknownOptionIssues(options.metadataDocuments, DOCUMENTS, 'metadataDocuments.'),
    ...unknownOptionIssues(options.outbound, OUTBOUND, 'outbound.'),
    ...unknownOptionIssues(options.externalUi, HEADLESS, 'externalUi.'),
    ...unknownOptionIssues(brand, BRAND, 'brand.'),
    ...unknownOptionIssues(brand.accent, ACCENT, 'brand.accent.'),
    ...(brand.links ?? []).flatMap((link, index) => unknownOptionIssues(link, LINK, `brand.links.${index}.`)),
  ];
}

function issuesOfIdentityProvider(
  { clientKey, allowedUsers: users, ...rest }: IdentityProviderOptions,
  at: string,
): readonly string[] {
  return [
    ...unknownOptionIssues(rest, THIRD_PARTY, at),
    ...unknownOptionIssues(clientKey, CLIENT_KEY, `${at}clientKey.`),
    ...unknownOptionIssues(users, USERS, `${at}allowedUsers.`),
  ];
}

function namesOf(whole: object): Readonly<Record<string, true>> {
  return Object.fromEntries(Object.keys(whole).map((name) => [name, true]));
}
