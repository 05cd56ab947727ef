/** The names of all options of an authorization server: any other is refused, for a rule that is spelled wrong would protect nothing. */
import { type Names, unknownNames } from '@portcullis/protocol/known-names';
import type { DocumentOptions } from './clients/documents/document-options.ts';
import type { RegistrationOptions } from './clients/registration-options.ts';
import type { OutboundSettings } from './clients/remote/outbound-settings.ts';
import type { AuthorizationServerOptions, ResourceDefinition } from './configuration.ts';
import type { HeadlessOptions } from './headless/headless-options.ts';
import type { KeyOptions } from './keys/key-options.ts';
import { defaultLifetimes } from './lifetimes.ts';
import { defaultLimits, type LimitOptions } from './limits/limit-options.ts';
import type { BrandOptions, Link } from './ui/brand.ts';
import type { ClientKeyOptions } from './upstream/client-key.ts';
import type { AllowedUsers, IdentityProviderOptions } from './upstream/options.ts';

const OPTIONS: Names<AuthorizationServerOptions> = {
  ...{ issuer: true, name: true, store: true, sealingKey: true, previousSealingKeys: true, keys: true },
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

const RESOURCE: Names<ResourceDefinition> = {
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

const THIRD_PARTY: Names<IdentityProviderOptions> = {
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
const CLIENT_KEY: Names<ClientKeyOptions> = {
  ...{ key: true, id: true, certificate: true, algorithm: true, audience: true, signer: true },
};
const USERS: Names<AllowedUsers> = { subjects: true, emailDomains: true, claims: true };

const KEYS: Names<KeyOptions> = { algorithm: true, rotateEvery: true, prepublish: true };
const REGISTRATION: Names<RegistrationOptions> = {
  ...{
    initialAccessTokens: true,
    requireInitialAccessToken: true,
    scope: true,
    maxUnusedClients: true,
    management: true,
  },
};
const DOCUMENTS: Names<DocumentOptions> = { hosts: true, refusedHosts: true };
const OUTBOUND: Names<OutboundSettings> = { fetch: true, allowLoopback: true, timeout: true };
const HEADLESS: Names<HeadlessOptions> = {
  ...{ loginUrl: true, consentUrl: true, secrets: true, createAccounts: true },
};
const BRAND: Names<BrandOptions> = { logo: true, accent: true, texts: true, links: true };
const ACCENT: Names<NonNullable<BrandOptions['accent']>> = { light: true, dark: true };
const LINK: Names<Link> = { label: true, href: true };
const RATE: Names<NonNullable<LimitOptions['refreshes']>> = { burst: true, perMinute: true };

/** Faults of names, in the options and in what they hold. What clients are is judged as metadata of clients is. */
export function issuesOfNames(options: Partial<AuthorizationServerOptions>): readonly string[] {
  const { resources = [], identityProviders = [], rateLimits: limits = {}, brand = {} } = options;
  return [
    ...unknownNames(options, OPTIONS),
    ...resources.flatMap((resource, index) => unknownNames(resource, RESOURCE, `resources.${index}.`)),
    ...identityProviders.flatMap((identityProvider, index) =>
      issuesOfIdentityProvider(identityProvider, `identityProviders.${index}.`),
    ),
    ...unknownNames(options.keys, KEYS, 'keys.'),
    ...unknownNames(options.lifetimes, namesOf(defaultLifetimes), 'lifetimes.'),
    ...unknownNames(limits, namesOf(defaultLimits), 'rateLimits.'),
    ...Object.entries(limits).flatMap(([name, rate]) => unknownNames(rate, RATE, `rateLimits.${name}.`)),
    ...unknownNames(options.registration, REGISTRATION, 'registration.'),
    ...unknownNames(options.metadataDocuments, DOCUMENTS, 'metadataDocuments.'),
    ...unknownNames(options.outbound, OUTBOUND, 'outbound.'),
    ...unknownNames(options.externalUi, HEADLESS, 'externalUi.'),
    ...unknownNames(brand, BRAND, 'brand.'),
    ...unknownNames(brand.accent, ACCENT, 'brand.accent.'),
    ...(brand.links ?? []).flatMap((link, index) => unknownNames(link, LINK, `brand.links.${index}.`)),
  ];
}

function issuesOfIdentityProvider(
  { clientKey, allowedUsers: users, ...rest }: IdentityProviderOptions,
  at: string,
): readonly string[] {
  return [
    ...unknownNames(rest, THIRD_PARTY, at),
    ...unknownNames(clientKey, CLIENT_KEY, `${at}clientKey.`),
    ...unknownNames(users, USERS, `${at}allowedUsers.`),
  ];
}

function namesOf(whole: object): Readonly<Record<string, true>> {
  return Object.fromEntries(Object.keys(whole).map((name) => [name, true]));
}
