/** Schema of identity providers, and presets by name: what has to be known about GitHub, Google, Okta and others. */
import { isSecureUrl, readWebUrl, type Scopes } from '@portcullis/protocol';
import { suggestName } from '@portcullis/protocol/option-names';
import type * as z from 'zod';
import {
  checkedText,
  duration,
  lazy,
  list,
  type OptionReport,
  object,
  oneOf,
  optional,
  record,
  required,
  seconds,
  secret,
  text,
} from '../../option-schema.ts';
import type { ClientKeyOptions } from './client-key.ts';
import type {
  AllowedUsers,
  IdentityProviderOptions,
  PlainProvider,
  UserClaimNames,
  UserinfoClaims,
} from './options.ts';
import {
  auth0,
  github,
  gitlab,
  google,
  keycloak,
  microsoftEntra,
  okta,
  type PresetOptions,
  slack,
} from './presets.ts';

/** Parameters of presets, such as the domain of an Okta organization. */
type PresetParameter = 'tenant' | 'domain' | 'server' | 'url' | 'realm';

/** An identity provider by the name of its preset. */
export type PresetReference = PresetOptions & { readonly preset: string } & {
  readonly [K in PresetParameter]?: string;
};

/** An identity provider as configured: complete, or by preset. */
export type IdentityProviderEntry = Pick<IdentityProviderOptions, 'clientId'> &
  Partial<Omit<IdentityProviderOptions, 'clientId' | 'kind'> & Omit<PresetReference, 'clientId'>> & {
    readonly kind?: Partial<PlainProvider>;
  };

interface Preset {
  readonly needs: readonly PresetParameter[];
  readonly accepts?: readonly PresetParameter[];
  create(
    options: PresetOptions,
    parameters: Readonly<Record<PresetParameter, string>>,
  ): IdentityProviderOptions;
}

const presets: Readonly<Record<string, Preset>> = {
  github: { needs: [], create: github },
  google: { needs: [], create: google },
  'microsoft-entra': { needs: ['tenant'], create: (options, { tenant }) => microsoftEntra(tenant, options) },
  okta: {
    needs: ['domain'],
    accepts: ['server'],
    create: (options, { domain, server }) => okta(domain, options, server === '' ? undefined : server),
  },
  auth0: { needs: ['domain'], create: (options, { domain }) => auth0(domain, options) },
  keycloak: { needs: ['url', 'realm'], create: (options, { url, realm }) => keycloak(url, realm, options) },
  gitlab: {
    needs: [],
    accepts: ['url'],
    create: (options, { url }) => gitlab(options, url === '' ? undefined : url),
  },
  slack: { needs: [], create: slack },
};

const scopes = (): z.ZodType<Scopes> => list(text('a scope'));
const url = (): z.ZodType<string> => text('a URL');

const clientKey = lazy(() =>
  object<ClientKeyOptions>({
    key: required(secret(), 'private key: PKCS #8 in PEM, or a JWK; EC P-256 or P-384, RSA, Ed25519'),
    id: optional(text(), 'key id at the provider (`kid`)', { defaultText: 'the `kid` of the JWK' }),
    certificate: optional(secret(), 'certificate in PEM, if the provider knows the key by it (`x5t#S256`)'),
    algorithm: optional(oneOf('ES256', 'ES384', 'EdDSA', 'RS256', 'PS256'), 'signing algorithm', {
      defaultText: 'that of the key; `RS256` for RSA',
    }),
    audience: optional(text(), 'audience of assertions', { defaultText: 'the issuer' }),
    signer: optional(text(), 'issuer of assertions if it is not the client, such as the team at Apple', {
      defaultText: 'the client',
    }),
  }),
);

const kind = lazy(() =>
  object<Partial<PlainProvider>>(
    {
      issuer: optional(url(), 'issuer identifier; alone it means OpenID Connect', {
        defaultText: 'the origin of the endpoints',
      }),
      endpoints: optional(
        object<PlainProvider['endpoints']>({
          authorization: required(url(), 'authorization endpoint'),
          token: required(url(), 'token endpoint'),
          userinfo: required(url(), 'returns JSON that identifies the user of an access token'),
          introspection: optional(url(), 'RFC 7662'),
          revocation: optional(url(), 'RFC 7009'),
        }),
        'endpoints of a plain OAuth 2.0 provider',
      ),
      userinfoClaims: optional(
        object<UserinfoClaims>({
          subject: required(
            text(),
            'immutable identifier that is never reassigned: no name, no email address',
          ),
          name: optional(text(), 'display name'),
        }),
        'members of the userinfo response of a plain OAuth 2.0 provider; dots reach nested members',
      ),
      responseFormat: optional(
        oneOf('standard', 'github', 'slack'),
        'how its responses differ from the standard',
        {
          defaultText: '`standard`',
        },
      ),
    },
    'an object: `issuer` alone for OpenID Connect, else `endpoints` and `userinfoClaims`',
  ),
);

const ofPreset = (description: string, schema: z.ZodType<string> = text()): z.ZodType<string | undefined> =>
  optional(schema, `for the preset: ${description}`);

/** A text in one form only: in any other, no issuer and no address would ever be equal to it. */
const written = (kind: string, isWell: (value: string) => boolean): z.ZodType<string> =>
  checkedText(kind, (value) => (isWell(value) ? null : `must be ${kind}`));

const isHost = (value: string) => !value.includes('*') && URL.parse(`https://${value}/`)?.host === value;

const hostName = () => written('a host name in lower case, such as `example.okta.com`', isHost);

/** Its domains, and the names for all tenants, lead to a login as well, but tokens contain the ID. */
const tenantId = () =>
  written(
    'a tenant ID, such as `8eaef023-2b34-4da1-9baa-8bc8c9d6a490`',
    (value) => /^[\w-]+$/.test(value) && !['common', 'organizations', 'consumers'].includes(value),
  );

const baseUrl = () =>
  written('an https URL such as `https://sso.example.org`', (value) => {
    const parsed = readWebUrl(value);
    return parsed !== null && isSecureUrl(parsed) && parsed.search === '' && parsed.hash === '';
  });

const emailDomain = () =>
  written('a domain without @, such as `example.org`; letters outside of ASCII in punycode', (value) =>
    isHost(value.toLowerCase()),
  );

export const identityProvidersSchema: () => z.ZodType<readonly IdentityProviderEntry[]> = lazy(() => {
  const names = Object.keys(presets);
  const entry = object<IdentityProviderEntry>({
    preset: optional(
      checkedText(`one of ${names.map((name) => `\`${name}\``).join(', ')}`, (name) =>
        Object.hasOwn(presets, name) ? null : `unknown preset; ${suggestName(name, names)}`,
      ),
      'identity provider with known settings, each of which may still be given',
    ),
    tenant: ofPreset('identifier of the organization (`microsoft-entra`)', tenantId()),
    domain: ofPreset('domain such as `example.okta.com` (`okta`, `auth0`)', hostName()),
    server: ofPreset('custom authorization server such as `default` (`okta`)'),
    url: ofPreset('base URL (`keycloak`, `gitlab`)', baseUrl()),
    realm: ofPreset('realm (`keycloak`)'),
    id: optional(text('lowercase letters, digits and hyphens'), 'identifier in URLs of this server', {
      defaultText: 'required without a `preset`',
    }),
    name: optional(text(), 'display name', { defaultText: 'required without a `preset`' }),
    clientId: required(text(), 'client identifier of this server at the provider'),
    clientSecret: optional(secret(), 'client secret', {
      defaultText: 'none; without a key either, a public client',
    }),
    clientKey: optional(clientKey(), 'private key that replaces the secret and never leaves this server'),
    clientAuthentication: optional(
      oneOf('client_secret_basic', 'client_secret_post', 'private_key_jwt', 'signed_secret'),
      'how the secret is sent, or what the key signs',
      { defaultText: '`client_secret_basic`, with a key `private_key_jwt`' },
    ),
    responseMode: optional(oneOf('query', 'form_post'), 'response mode', { defaultText: '`query`' }),
    scopes: optional(scopes(), 'scopes to request for every user', {
      defaultText: 'required without a `preset`',
    }),
    upstreamScopes: optional(
      record(scopes(), 'an object, a list of provider scopes for each scope of ours'),
      'provider scopes that a scope of ours depends on: `{ "files:write": ["drive"] }`',
    ),
    kind: optional(kind(), 'issuer or endpoints', { defaultText: 'required without a `preset`' }),
    parameters: optional(
      record(text(), 'an object of strings'),
      'additional authorization request parameters',
    ),
    allowedUsers: optional(
      object<AllowedUsers>({
        subjects: optional(list(text()), 'these subjects', { defaultText: 'any' }),
        emailDomains: optional(list(emailDomain()), 'verified email addresses in these domains', {
          defaultText: 'any',
        }),
        claims: optional(
          record(list(text()), 'an object of lists'),
          'claims and their accepted values: `{ "hd": ["example.org"] }`; dots reach nested members',
          { defaultText: 'any' },
        ),
      }),
      'users who may sign in; all conditions must hold',
      { defaultText: 'every user of the provider' },
    ),
    userClaims: optional(
      object<UserClaimNames>({
        name: optional(text(), 'display name', { defaultText: '`name`' }),
        groups: optional(text(), 'a list of groups, such as `groups` or `realm_access.roles`', {
          defaultText: 'none',
        }),
      }),
      "members of the provider's claims for the `claims` of resources; dots reach nested members, names that contain dots are found as well. Addresses count only if `email_verified` is true",
      { defaultText: '`name`, and no groups' },
    ),
    twoFactorValues: optional(
      list(text()),
      'values of `acr` and `amr` in its claims that mean a sign-in with two factors, such as `mfa`',
      { defaultText: 'none: each of its logins is one factor' },
    ),
    status: optional(
      oneOf('introspection', 'userinfo', 'expiry'),
      'how this server learns that a provider token was revoked',
      { defaultText: 'the best way that the provider offers' },
    ),
    statusCheckInterval: optional(
      seconds(1, 86_400),
      'within how many seconds a revocation at the provider takes effect here',
      { defaultText: duration(60) },
    ),
    revocationEnds: optional(
      oneOf('grant', 'everything'),
      'what revoking one token at the provider ends: that `grant`, or `everything` of the user at this client',
      { defaultText: '`grant`' },
    ),
  });
  return list(entry);
});

/**
 * Completes an entry by its preset.
 * @returns `null` after reporting what is missing
 */
export function completeEntry(
  { preset: name, tenant, domain, server, url: base, realm, ...options }: IdentityProviderEntry,
  path: readonly string[],
  report: OptionReport,
): IdentityProviderOptions | null {
  const given = { tenant, domain, server, url: base, realm };
  const preset = name === undefined ? undefined : presets[name];
  let isComplete = true;
  const fail = (member: string, message: string) => {
    isComplete = false;
    if (!report.isUnread(...path, member)) report.add([...path, member], message);
  };
  for (const [parameter, value] of Object.entries(given) as [PresetParameter, string | undefined][]) {
    if (value === undefined && preset?.needs.includes(parameter) === true) {
      fail(parameter, `is required for the preset ${name}`);
    }
    const accepted = [...(preset?.needs ?? []), ...(preset?.accepts ?? [])];
    if (value !== undefined && !accepted.includes(parameter) && !report.isUnread(...path, 'preset')) {
      fail(parameter, name === undefined ? 'needs a preset' : `does not apply to the preset ${name}`);
    }
  }
  if (preset !== undefined) {
    if (options.kind !== undefined) fail('kind', 'must be left out with a preset');
    const { kind: _kind, ...known } = options;
    const parameters = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, value ?? '']));
    return isComplete ? preset.create(known, parameters as Record<PresetParameter, string>) : null;
  }
  if (report.isUnread(...path, 'preset')) return null;
  for (const member of ['id', 'name', 'scopes', 'kind'] as const) {
    if (options[member] === undefined) fail(member, 'is required');
  }
  return isComplete ? (options as IdentityProviderOptions) : null;
}
