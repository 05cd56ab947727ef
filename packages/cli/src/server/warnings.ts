/** Warnings about settings that are valid but probably not intended. */
import type { applyRules } from '@portcullis/authorization-server/options';
import { type GatewayServer, publicPartsOf } from '@portcullis/gateway/options';
import type { HiddenKey } from '../settings/resolve.ts';
import type { NameOf, Settings } from '../settings/schema.ts';

interface WarningFacts {
  readonly settings: Pick<
    Settings,
    'lifetimes' | 'localAccounts' | 'personalAccessTokens' | 'publicUrl' | 'tlsCert' | 'trustedProxies'
  >;
  readonly identityProviders: readonly CheckedProvider[];
  /** Those behind the gateway. */
  readonly servers?: readonly GatewayServer[];
  /** Variables in place of keys of the configuration file. */
  readonly hidden: readonly HiddenKey[];
  readonly nameOf: NameOf;
}

/** An identity provider as the rules have completed it. */
export type CheckedProvider =
  ReturnType<typeof applyRules>['identityProviders'] extends ReadonlyMap<string, infer P> ? P : never;

const DAY = 86_400;

export function findWarnings(facts: WarningFacts): readonly string[] {
  const { settings, identityProviders, servers = [], hidden, nameOf } = facts;
  const { accessToken } = settings.lifetimes;
  const days = Math.round(accessToken / DAY);
  return [
    ...hidden.map(
      ({ key, variable, file }) =>
        `${variable} is set, so that ${JSON.stringify(key)} of ${file} has no effect`,
    ),
    ...identityProviders
      .filter(isOpen)
      .map(
        ({ name }) =>
          `everyone who has an account at ${name} may sign in: to limit that, set allowedUsers in ${nameOf('identityProviders')}`,
      ),
    ...identityProviders.flatMap((identityProvider) => {
      const why = whyNoAddressMatches(identityProvider);
      return why === null
        ? []
        : [
            `emails and emailDomains of allowedUsers in ${nameOf('identityProviders')} match no user of ${identityProvider.name}: ${why}`,
          ];
    }),
    ...identityProviders
      .filter(({ scim, userClaims }) => scim !== null && userClaims.groups !== undefined)
      .map(
        ({ name }) =>
          `users of ${name} have the groups of scim and those of userClaims.groups in ${nameOf('identityProviders')}: one that SCIM takes away stays until the next sign-in if the claim had it`,
      ),
    ...servers.flatMap((server) => warnOfPublicParts(server, servers)),
    ...(isBehindUnknownProxy(settings)
      ? [
          `${nameOf('publicUrl')} is https and this server is not, and ${nameOf('trustedProxies')} names no proxy: all clients share the rate limits of one`,
        ]
      : []),
    ...(settings.personalAccessTokens && !settings.localAccounts
      ? [
          `${nameOf('personalAccessTokens')} has no effect while ${nameOf('localAccounts')} is false: users of identity providers have none`,
        ]
      : []),
    ...(accessToken > DAY
      ? [
          `${nameOf('lifetimes', ['accessToken'])} is ${accessToken} seconds, about ${days} ${days === 1 ? 'day' : 'days'}: for that long, guards that verify only signatures accept revoked tokens; 600 are 10 minutes`,
        ]
      : []),
  ];
}

/** A client that gets a list without a token has no reason to sign in. */
function warnOfPublicParts(server: GatewayServer, all: readonly GatewayServer[]): readonly string[] {
  if (server.merges === null) return [];
  const paths = publicPartsOf(server, all).map(({ path }) => path);
  return paths.length === 0
    ? []
    : [
        `${server.path} merges ${paths.join(' and ')} with public operations: most clients connect to ${server.path} without signing in, and see only what is public of all that it merges`,
      ];
}

/** Whether something in front terminates TLS, and the addresses of clients are those of it. */
function isBehindUnknownProxy({ publicUrl, tlsCert, trustedProxies }: WarningFacts['settings']): boolean {
  return publicUrl?.startsWith('https:') === true && tlsCert === null && trustedProxies.length === 0;
}

/** Issuers at which everyone can get an account; of Entra the tenants of personal accounts. */
const WORLDWIDE: ReadonlySet<string> = new Set([
  'https://accounts.google.com',
  'https://appleid.apple.com',
  'https://github.com/login/oauth',
  'https://gitlab.com',
  'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
  'https://slack.com',
]);

/** Entra, of any cloud, has no claim `email_verified`. */
const ENTRA = /^login\.(?:partner\.)?microsoftonline\.(?:com|us|cn)$/;

/** Only verified addresses count. @returns `null`: some may match */
function whyNoAddressMatches({ scopes, provider, allowedUsers }: CheckedProvider): string | null {
  const { emails, emailDomains } = allowedUsers;
  if (emails === undefined && emailDomains === undefined) return null;
  const isVerifying =
    provider.protocol === 'openid'
      ? !ENTRA.test(URL.parse(provider.issuer)?.hostname ?? '')
      : provider.responseFormat === 'standard';
  if (!isVerifying) return 'it does not say that it has verified an address; use subjects or claims';
  return provider.protocol === 'openid' && !scopes.includes('email')
    ? 'request their addresses with the scope email'
    : null;
}

function isOpen({ provider, allowedUsers }: CheckedProvider): boolean {
  return WORLDWIDE.has(provider.issuer) && Object.keys(allowedUsers).length === 0;
}
