/** Options of identity providers: plain data, as in the configuration file. */
import { isSecureUrl, readWebUrl, suggestName } from '@portcullis/protocol';
import * as z from 'zod';
import {
  checkedText,
  duration,
  type InputOf,
  lazy,
  list,
  option,
  optional,
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

export type PresetName = (typeof PRESETS)[number];

/** What applies where neither an entry nor its preset says otherwise. */
export const providerDefaults = {
  responseMode: 'query',
  loginPrompt: 'login',
  introspectionSubject: 'sub',
  statusCheckInterval: 60,
  revocationEnds: 'grant',
  upstreamScopes: {},
  parameters: {},
  allowedUsers: {},
  userClaims: {},
  twoFactorValues: [],
} as const;

const scopes = () => list(text('a scope'));
const url = () => text('a URL');

const clientKeySchema = lazy(() =>
  z.strictObject({
    key: secret().describe('private key: PKCS #8 in PEM, or a JWK; EC P-256 or P-384, RSA, Ed25519'),
    id: optional(text(), 'key id at the provider (`kid`)', 'the `kid` of the JWK'),
    certificate: optional(secret(), 'certificate in PEM, if the provider knows the key by it (`x5t#S256`)'),
    algorithm: optional(
      z.enum(['ES256', 'ES384', 'EdDSA', 'RS256', 'PS256']),
      'signing algorithm',
      'that of the key; `RS256` for RSA',
    ),
    audience: optional(text(), 'audience of assertions', 'the issuer'),
    signer: optional(
      text(),
      'issuer of assertions if it is not the client, such as the team at Apple',
      'the client',
    ),
  }),
);

const endpointsSchema = lazy(() =>
  z.strictObject({
    authorization: url().describe('authorization endpoint'),
    token: url().describe('token endpoint'),
    userinfo: url().describe('returns JSON that identifies the user of an access token'),
    introspection: optional(url(), 'RFC 7662'),
    revocation: optional(url(), 'RFC 7009'),
  }),
);

/** Nested members are written with dots. */
const userinfoClaimsSchema = lazy(() =>
  z.strictObject({
    subject: text().describe('immutable identifier that is never reassigned: no name, no email address'),
    name: optional(text(), 'display name'),
  }),
);

const kindSchema = lazy(() =>
  z
    .strictObject({
      issuer: optional(
        url(),
        'issuer identifier; alone it means OpenID Connect',
        'the origin of the endpoints',
      ),
      endpoints: optional(endpointsSchema(), 'endpoints of a plain OAuth 2.0 provider'),
      userinfoClaims: optional(
        userinfoClaimsSchema(),
        'members of the userinfo response of a plain OAuth 2.0 provider; dots reach nested members',
      ),
      responseFormat: optional(
        z.enum(['standard', 'github', 'slack']),
        'how its responses differ from the standard',
        '`standard`',
      ),
    })
    .register(optionMeta, {
      kind: 'an object: `issuer` alone for OpenID Connect, else `endpoints` and `userinfoClaims`',
    }),
);

const ofPreset = (description: string, schema = text()) => optional(schema, `for the preset: ${description}`);

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
    subjects: optional(list(text()), 'these subjects', 'any'),
    emails: optional(list(emailAddress()), 'these verified email addresses; case does not matter', 'any'),
    emailDomains: optional(list(emailDomain()), 'verified email addresses in these domains', 'any'),
    claims: optional(
      record(list(text()), 'an object of lists'),
      'claims and their accepted values: `{ "hd": ["example.org"] }`; dots reach nested members',
      'any',
    ),
  }),
);

const userClaimsSchema = lazy(() =>
  z.strictObject({
    name: optional(text(), 'display name', '`name`'),
    groups: optional(text(), 'a list of groups, such as `groups` or `realm_access.roles`'),
  }),
);

const clientAuthentication = () =>
  optional(
    z.enum(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'signed_secret']),
    'how the secret is sent, or what the key signs',
    '`client_secret_basic`, with a key `private_key_jwt`',
  );

const signalsClientSchema = lazy(() =>
  z.strictObject({
    clientId: text().describe("client identifier of this server at the transmitter's authorization server"),
    clientSecret: optional(secret(), 'client secret', 'required without a key'),
    clientKey: optional(clientKeySchema(), 'private key that replaces the secret'),
    clientAuthentication: clientAuthentication(),
    authorizationServer: optional(
      url(),
      'issuer of the authorization server; the credentials are sent to its origin only',
      'the transmitter',
    ),
  }),
);

const sharedSignalsSchema = lazy(() =>
  z.strictObject({
    transmitter: optional(url(), 'issuer of the transmitter', 'the issuer of the provider'),
    delivery: optional(
      z.enum(['push', 'poll']),
      'whether the transmitter sends events to `<origin of the public URL>/shared-signals/<id>` (RFC 8935), or is polled (RFC 8936)',
      '`push`',
    ),
    token: optional(
      secret(),
      "access token for the transmitter's stream management: the stream is found or created at startup",
      'none: without a `client` either, the stream was set up at the provider, and `audience` is required',
    ),
    client: optional(
      signalsClientSchema(),
      'replaces a `token` that expires: access tokens are obtained by client credentials, with the scopes `ssf.read ssf.manage`, and renewed',
    ),
    audience: optional(
      list(text()),
      'values of `aud` in its security event tokens',
      'what the transmitter assigns to the stream',
    ),
  }),
);

const scimSchema = lazy(() =>
  z.strictObject({
    externalId: optional(
      text(),
      'claim of its users that equals `externalId` in SCIM: links them to their sign-ins, beside verified email addresses. Microsoft Entra ID: `oid`, with `objectId` mapped to `externalId`',
      '`sub`',
    ),
    provisionedOnly: optional(z.boolean(), 'whether only provisioned users may sign in', '`false`'),
  }),
);

const entrySchema = lazy(() =>
  z.strictObject({
    preset: optional(
      checkedText(`one of ${PRESETS.map((name) => `\`${name}\``).join(', ')}`, (name) =>
        PRESETS.some((known) => known === name) ? null : `unknown preset; ${suggestName(name, PRESETS)}`,
      ),
      'identity provider with known settings, each of which may still be given',
    ),
    tenant: ofPreset('identifier of the organization (`microsoft-entra`)', tenantId()),
    domain: ofPreset('domain such as `example.okta.com` (`okta`, `auth0`)', hostName()),
    server: ofPreset('custom authorization server such as `default` (`okta`)'),
    url: ofPreset('base URL (`keycloak`, `gitlab`)', baseUrl()),
    realm: ofPreset('realm (`keycloak`)'),
    id: optional(
      text('lowercase letters, digits and hyphens'),
      'identifier in URLs of this server',
      'required without a `preset`',
    ),
    name: optional(text(), 'display name', 'required without a `preset`'),
    clientId: text().describe('client identifier of this server at the provider'),
    clientSecret: optional(secret(), 'client secret', 'none; without a key either, a public client'),
    clientKey: optional(
      clientKeySchema(),
      'private key that replaces the secret and never leaves this server',
    ),
    clientAuthentication: clientAuthentication(),
    responseMode: optional(
      z.enum(['query', 'form_post']),
      'response mode',
      `\`${providerDefaults.responseMode}\``,
    ),
    loginPrompt: optional(
      z.enum(['login', 'select_account']),
      'value of `prompt` that makes users sign in again, for clients that send `max_age`',
      `\`${providerDefaults.loginPrompt}\``,
    ),
    scopes: optional(scopes(), 'scopes to request for every user', 'required without a `preset`'),
    upstreamScopes: optional(
      record(scopes(), 'an object, a list of provider scopes for each scope of ours'),
      'provider scopes that a scope of ours depends on: `{ "files:write": ["drive"] }`',
    ),
    kind: optional(kindSchema(), 'issuer or endpoints', 'required without a `preset`'),
    parameters: optional(
      record(text(), 'an object of strings'),
      'additional authorization request parameters',
    ),
    allowedUsers: optional(
      allowedUsersSchema(),
      'users who may sign in; all conditions must hold',
      'every user of the provider',
    ),
    userClaims: optional(
      userClaimsSchema(),
      "members of the provider's claims for the `claims` of resources; dots reach nested members, names that contain dots are found as well. Addresses count only if `email_verified` is true",
      '`name`, and no groups',
    ),
    twoFactorValues: optional(
      list(text()),
      'values of `acr` and `amr` in its claims that mean a sign-in with two factors, such as `mfa`',
      'none: each of its logins is one factor',
    ),
    status: optional(
      z.enum(['introspection', 'userinfo', 'expiry']),
      'how this server learns that a provider token was revoked',
      'the best way that the provider offers',
    ),
    introspectionSubject: optional(
      text(),
      'member of introspection responses that identifies the user as `sub` of ID tokens does. If it differs, userinfo decides whether the token is of another user',
      `\`${providerDefaults.introspectionSubject}\``,
    ),
    statusCheckInterval: optional(
      seconds(1, 86_400),
      'within how many seconds a revocation at the provider takes effect here',
      duration(providerDefaults.statusCheckInterval),
    ),
    revocationEnds: optional(
      z.enum(['grant', 'everything']),
      'what revoking one token at the provider ends: that `grant`, or `everything` of the user at this client',
      `\`${providerDefaults.revocationEnds}\``,
    ),
    backChannelLogout: optional(
      z.enum(['sessions', 'everything']),
      'what a logout at the provider ends here (OpenID Connect Back-Channel Logout): browser `sessions`, or `everything`: grants and their tokens as well. Register `<origin of the public URL>/back-channel-logout/<id>` at the provider',
      'nothing: logouts are not received',
    ),
    sharedSignals: optional(
      sharedSignalsSchema(),
      'security events of the provider (Shared Signals Framework, CAEP, RISC), which end what they name here',
      'none: they are not received',
    ),
    scim: optional(
      scimSchema(),
      'provisioning of its users and groups by SCIM 2.0, at `<origin of the public URL>/scim/v2`, with a token of `portcullis scim tokens create`',
      'none: users are known once they sign in',
    ),
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
