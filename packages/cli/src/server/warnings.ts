/** Warnings about settings that are valid but probably not intended. */
import type { HiddenKey } from '../settings/resolve.ts';
import type { NameOf, Settings } from '../settings/schema.ts';

interface WarningFacts {
  readonly settings: Pick<Settings, 'lifetimes'>;
  readonly identityProviders: readonly OpenProvider[];
  /** Variables in place of keys of the configuration file. */
  readonly hidden: readonly HiddenKey[];
  readonly nameOf: NameOf;
}

interface OpenProvider {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly provider: { readonly issuer: string; readonly protocol: 'openid' | 'oauth' };
  readonly allowedUsers: {
    readonly emails?: readonly string[] | undefined;
    readonly emailDomains?: readonly string[] | undefined;
  };
}

const DAY = 86_400;

export function findWarnings({
  settings,
  identityProviders,
  hidden,
  nameOf,
}: WarningFacts): readonly string[] {
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
    ...identityProviders
      .filter(neverMatches)
      .map(
        ({ name }) =>
          `${name} sends no verified address, so that allowedUsers with emails or emailDomains in ${nameOf('identityProviders')} matches no user: request the scope "email" where it has one, or use claims or subjects`,
      ),
    ...(accessToken > DAY
      ? [
          `${nameOf('lifetimes', ['accessToken'])} is ${accessToken} seconds, about ${days} ${days === 1 ? 'day' : 'days'}: for that long, guards that verify only signatures accept revoked tokens; 600 are 10 minutes`,
        ]
      : []),
  ];
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

/** Entra sends no `email_verified`, GitHub and Slack no claims of OpenID Connect. */
const WITHOUT_ADDRESS: ReadonlySet<string> = new Set([
  'login.microsoftonline.com',
  'github.com',
  'slack.com',
]);

function neverMatches({ scopes, provider, allowedUsers }: OpenProvider): boolean {
  const { emails, emailDomains } = allowedUsers;
  if (emails === undefined && emailDomains === undefined) return false;
  const isWithout = WITHOUT_ADDRESS.has(URL.parse(provider.issuer)?.hostname ?? '');
  return isWithout || (provider.protocol === 'openid' && !scopes.includes('email'));
}

function isOpen({ provider, allowedUsers }: OpenProvider): boolean {
  return WORLDWIDE.has(provider.issuer) && Object.keys(allowedUsers).length === 0;
}
