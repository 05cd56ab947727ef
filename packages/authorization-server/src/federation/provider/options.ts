/** Options of identity providers: plain data, as in the configuration file. */
import { isSecureUrl, readWebUrl } from '@portcullis/protocol';
import { suggestName } from '@portcullis/protocol/option-names';
import * as z from 'zod';
import {
  checkedText,
  duration,
  type InputOf,
  lazy,
  list,
  option,
  optionMeta,
  record,
  seconds,
  secret,
  text,
} from '../../option-schema/fields.ts';
import { emailKey } from '../../users/accounts.ts';

/** Identity providers with known settings. */
const PRESETS = [
  'github',
  'google',
  'microsoft-entra',
  'okta',
  'auth0',
  'keycloak',
  'gitlab',
  'slack',
] as const;

export type LoginPrompt = 'login' | 'select_account';

export type PresetName = (typeof PRESETS)[number];

/** What applies where neither an entry nor its preset says otherwise. */
export const providerDefaults = {
  responseMode: 'query',
  loginPrompt: 'login',
  introspectionSubject: 'sub',
  statusCheckInterval: 60,
  revocationEnds: 'grant',
} as const;

const scopes = () => list(text('a scope'));
const url = () => text('a URL');

const clientKeySchema = lazy(() =>
  z.strictObject({
    key: secret().describe('private key: PKCS #8 in PEM, or a JWK; EC P-256 or P-384, RSA, Ed25519'),
    id: text()
      .optional()
      .describe('key id at the provider (`kid`)')
      .register(optionMeta, { defaultText: 'the `kid` of the JWK' }),
    certificate: secret()
      .optional()
      .describe('certificate in PEM, if the provider knows the key by it (`x5t#S256`)'),
    algorithm: z
      .enum(['ES256', 'ES384', 'EdDSA', 'RS256', 'PS256'])
      .optional()
      .describe('signing algorithm')
      .register(optionMeta, { defaultText: 'that of the key; `RS256` for RSA' }),
    audience: text()
      .optional()
      .describe('audience of assertions')
      .register(optionMeta, { defaultText: 'the issuer' }),
    signer: text()
      .optional()
      .describe('issuer of assertions if it is not the client, such as the team at Apple')
      .register(optionMeta, { defaultText: 'the client' }),
  }),
);

const endpointsSchema = lazy(() =>
  z.strictObject({
    authorization: url().describe('authorization endpoint'),
    token: url().describe('token endpoint'),
    userinfo: url().describe('returns JSON that identifies the user of an access token'),
    introspection: url().optional().describe('RFC 7662'),
    revocation: url().optional().describe('RFC 7009'),
  }),
);

/** Nested members are written with dots. */
const userinfoClaimsSchema = lazy(() =>
  z.strictObject({
    subject: text().describe('immutable identifier that is never reassigned: no name, no email address'),
    name: text().optional().describe('display name'),
  }),
);

const kindSchema = lazy(() =>
  z
    .strictObject({
      issuer: url()
        .optional()
        .describe('issuer identifier; alone it means OpenID Connect')
        .register(optionMeta, { defaultText: 'the origin of the endpoints' }),
      endpoints: endpointsSchema().optional().describe('endpoints of a plain OAuth 2.0 provider'),
      userinfoClaims: userinfoClaimsSchema()
        .optional()
        .describe(
          'members of the userinfo response of a plain OAuth 2.0 provider; dots reach nested members',
        ),
      responseFormat: z
        .enum(['standard', 'github', 'slack'])
        .optional()
        .describe('how its responses differ from the standard')
        .register(optionMeta, { defaultText: '`standard`' }),
    })
    .register(optionMeta, {
      kind: 'an object: `issuer` alone for OpenID Connect, else `endpoints` and `userinfoClaims`',
    }),
);

const ofPreset = (description: string, schema = text()) =>
  schema.optional().describe(`for the preset: ${description}`);

/** A text in one form only: in any other, no issuer and no address would ever be equal to it. */
const written = (kind: string, isWell: (value: string) => boolean) =>
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

const emailAddress = () => written('an email address', (value) => emailKey(value) !== null);

/** All conditions must hold. */
const allowedUsersSchema = lazy(() =>
  z.strictObject({
    subjects: list(text()).optional().describe('these subjects').register(optionMeta, { defaultText: 'any' }),
    emails: list(emailAddress())
      .optional()
      .describe('these verified email addresses; case does not matter')
      .register(optionMeta, { defaultText: 'any' }),
    emailDomains: list(emailDomain())
      .optional()
      .describe('verified email addresses in these domains')
      .register(optionMeta, { defaultText: 'any' }),
    claims: record(list(text()), 'an object of lists')
      .optional()
      .describe('claims and their accepted values: `{ "hd": ["example.org"] }`; dots reach nested members')
      .register(optionMeta, { defaultText: 'any' }),
  }),
);

const userClaimsSchema = lazy(() =>
  z.strictObject({
    name: text().optional().describe('display name').register(optionMeta, { defaultText: '`name`' }),
    groups: text().optional().describe('a list of groups, such as `groups` or `realm_access.roles`'),
  }),
);

const entrySchema = lazy(() =>
  z.strictObject({
    preset: checkedText(`one of ${PRESETS.map((name) => `\`${name}\``).join(', ')}`, (name) =>
      PRESETS.some((known) => known === name) ? null : `unknown preset; ${suggestName(name, PRESETS)}`,
    )
      .optional()
      .describe('identity provider with known settings, each of which may still be given'),
    tenant: ofPreset('identifier of the organization (`microsoft-entra`)', tenantId()),
    domain: ofPreset('domain such as `example.okta.com` (`okta`, `auth0`)', hostName()),
    server: ofPreset('custom authorization server such as `default` (`okta`)'),
    url: ofPreset('base URL (`keycloak`, `gitlab`)', baseUrl()),
    realm: ofPreset('realm (`keycloak`)'),
    id: text('lowercase letters, digits and hyphens')
      .optional()
      .describe('identifier in URLs of this server')
      .register(optionMeta, { defaultText: 'required without a `preset`' }),
    name: text()
      .optional()
      .describe('display name')
      .register(optionMeta, { defaultText: 'required without a `preset`' }),
    clientId: text().describe('client identifier of this server at the provider'),
    clientSecret: secret()
      .optional()
      .describe('client secret')
      .register(optionMeta, { defaultText: 'none; without a key either, a public client' }),
    clientKey: clientKeySchema()
      .optional()
      .describe('private key that replaces the secret and never leaves this server'),
    clientAuthentication: z
      .enum(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'signed_secret'])
      .optional()
      .describe('how the secret is sent, or what the key signs')
      .register(optionMeta, { defaultText: '`client_secret_basic`, with a key `private_key_jwt`' }),
    responseMode: z
      .enum(['query', 'form_post'])
      .optional()
      .describe('response mode')
      .register(optionMeta, { defaultText: `\`${providerDefaults.responseMode}\`` }),
    loginPrompt: z
      .enum(['login', 'select_account'])
      .optional()
      .describe('value of `prompt` that makes users sign in again, for clients that send `max_age`')
      .register(optionMeta, { defaultText: `\`${providerDefaults.loginPrompt}\`` }),
    scopes: scopes()
      .optional()
      .describe('scopes to request for every user')
      .register(optionMeta, { defaultText: 'required without a `preset`' }),
    upstreamScopes: record(scopes(), 'an object, a list of provider scopes for each scope of ours')
      .optional()
      .describe('provider scopes that a scope of ours depends on: `{ "files:write": ["drive"] }`'),
    kind: kindSchema()
      .optional()
      .describe('issuer or endpoints')
      .register(optionMeta, { defaultText: 'required without a `preset`' }),
    parameters: record(text(), 'an object of strings')
      .optional()
      .describe('additional authorization request parameters'),
    allowedUsers: allowedUsersSchema()
      .optional()
      .describe('users who may sign in; all conditions must hold')
      .register(optionMeta, { defaultText: 'every user of the provider' }),
    userClaims: userClaimsSchema()
      .optional()
      .describe(
        "members of the provider's claims for the `claims` of resources; dots reach nested members, names that contain dots are found as well. Addresses count only if `email_verified` is true",
      )
      .register(optionMeta, { defaultText: '`name`, and no groups' }),
    twoFactorValues: list(text())
      .optional()
      .describe('values of `acr` and `amr` in its claims that mean a sign-in with two factors, such as `mfa`')
      .register(optionMeta, { defaultText: 'none: each of its logins is one factor' }),
    status: z
      .enum(['introspection', 'userinfo', 'expiry'])
      .optional()
      .describe('how this server learns that a provider token was revoked')
      .register(optionMeta, { defaultText: 'the best way that the provider offers' }),
    introspectionSubject: text()
      .optional()
      .describe(
        'member of introspection responses that identifies the user as `sub` of ID tokens does. If it differs, userinfo decides whether the token is of another user',
      )
      .register(optionMeta, { defaultText: `\`${providerDefaults.introspectionSubject}\`` }),
    statusCheckInterval: seconds(1, 86_400)
      .optional()
      .describe('within how many seconds a revocation at the provider takes effect here')
      .register(optionMeta, { defaultText: duration(providerDefaults.statusCheckInterval) }),
    revocationEnds: z
      .enum(['grant', 'everything'])
      .optional()
      .describe(
        'what revoking one token at the provider ends: that `grant`, or `everything` of the user at this client',
      )
      .register(optionMeta, { defaultText: `\`${providerDefaults.revocationEnds}\`` }),
  }),
);

export const identityProviderOptions = {
  identityProviders: option(() => list(entrySchema()), {
    default: [],
    section: 'Sign-in',
    description: 'identity providers that users sign in with, and whose tokens grants depend on',
    note: 'Register `<origin of the public URL>/callback/<id>` as redirect URI at the provider; `portcullis up` prints it.',
  }),
};

/** An identity provider as configured: complete, or by preset. */
export type IdentityProviderEntry = InputOf<typeof entrySchema>;

/** Parameters of presets, such as the domain of an Okta organization. */
export type PresetParameter = 'tenant' | 'domain' | 'server' | 'url' | 'realm';

/** The registered client, and overrides of the preset; what is left out is not `undefined`, which would override as well. */
export type PresetOptions = Exact<Omit<IdentityProviderEntry, 'preset' | PresetParameter | 'kind'>>;

type Exact<T> = { readonly [K in keyof T]: Exclude<T[K], undefined> };

/** An identity provider by the name of its preset. */
export type PresetReference = PresetOptions &
  Exact<Pick<IdentityProviderEntry, PresetParameter>> & { readonly preset: string };

/** An external authorization server with which users sign in, and on whose tokens their grants depend. */
export type IdentityProviderOptions = PresetOptions &
  Required<Pick<PresetOptions, 'id' | 'name' | 'scopes'>> & {
    /** OpenID Connect by discovery, or plain OAuth 2.0 with explicit endpoints. */
    readonly kind: OpenIdProvider | PlainProvider;
  };

/** An OpenID provider, discovered by its issuer identifier. */
interface OpenIdProvider {
  readonly issuer: string;
}

type Kind = InputOf<typeof kindSchema>;

/** A plain OAuth 2.0 provider. */
export type PlainProvider = Kind & {
  readonly [K in 'endpoints' | 'userinfoClaims']: NonNullable<Kind[K]>;
};

/** The private key with which this server authenticates to an identity provider. */
export type ClientKeyOptions = InputOf<typeof clientKeySchema>;
/** Signature algorithms for `private_key_jwt` at an identity provider. @see RFC 7518 §3.1, RFC 8037 §3.1 */
export type ClientKeyAlgorithm = NonNullable<ClientKeyOptions['algorithm']>;
/** Members of the userinfo response that identify the user. Nested members are written with dots. */
export type UserinfoClaims = InputOf<typeof userinfoClaimsSchema>;
/** Members of the claims or the userinfo response that describe the user. Nested members are written with dots. */
export type UserClaimNames = InputOf<typeof userClaimsSchema>;
/** Users who may sign in; all conditions must hold. */
export type AllowedUsers = InputOf<typeof allowedUsersSchema>;

/** `introspection`: RFC 7662. `userinfo`: a userinfo request. `expiry`: only when the token expires or is refreshed. */
export type StatusMethod = NonNullable<IdentityProviderEntry['status']>;
