/** The shapes of structured settings, member by member: what each decides, and what is taken when it is left out. */
import {
  type BrandOptions,
  type DocumentOptions,
  defaultLifetimes,
  defaultLimits,
  type HeadlessOptions,
  type KeyOptions,
  type Lifetimes,
  type LimitOptions,
  type OutboundSettings,
  type RegistrationOptions,
  type ResourceDefinition,
} from '@portcullis/authorization-server';
import { Fault } from '../faults.ts';
import {
  document,
  listOf,
  listOfObjects,
  type MembersOf,
  MUST,
  mapOf,
  object,
  oneOf,
  orNull,
  readBytes,
  type Shape,
  secret,
  text,
  textIn,
  wholeNumber,
  yesOrNo,
} from './shapes.ts';
import { seconds } from './words.ts';

/** A protected server elsewhere. */
export type ResourceSetting = { readonly url: string } & Omit<ResourceDefinition, 'resource'>;

const scopes = listOf(textIn('a scope'));

export const resource: Shape<ResourceSetting> = object<ResourceSetting>({
  url: {
    what: 'its address, as clients and its own guard name it: the audience of its tokens',
    shape: textIn('a canonical URI'),
    otherwise: MUST,
  },
  name: { what: 'what people call it', shape: text, otherwise: MUST },
  scopes: {
    what: 'each scope with the sentence that people read before they allow it',
    shape: mapOf(text, 'an object, a sentence for each scope'),
    otherwise: MUST,
  },
  defaultScopes: { what: 'what a client gets that asks for none', shape: scopes, otherwise: 'all' },
  requiredScopes: {
    what: 'scopes that a person may not leave out',
    shape: scopes,
    otherwise: 'none, but one scope has to remain',
  },
  hierarchy: {
    what: 'for broad scopes, which narrow ones each includes',
    shape: mapOf(scopes, 'an object, a list of scopes for each broad one'),
    otherwise: 'none',
  },
  translations: {
    what: 'its name and those sentences in other languages: `{ "de": { "name": …, "scopes": { … } } }`',
    shape: document as Shape<NonNullable<ResourceDefinition['translations']>>,
    otherwise: 'none',
  },
  introspectedBy: {
    what: 'identifiers of the confidential clients that may introspect its tokens',
    shape: listOf(textIn('a `client_id`')),
    otherwise: 'none',
  },
  exchangedBy: {
    what: "identifiers of the confidential clients that get a third party's token for one of its tokens",
    shape: listOf(textIn('a `client_id`')),
    otherwise: 'none',
  },
  endsWithin: {
    what: 'in so many seconds its guard notices that access has ended, as people are told: 0 when it asks at each request, 10 when it polls status lists or remembers answers for ten seconds',
    shape: seconds(0),
    otherwise: 'the life of an access token',
  },
});

/** 128 bits in base64url. */
const SHORTEST_SECRET = 22;

/** RFC 7591 metadata: what its members are worth is judged by the server, which knows which go together. */
type ClientSetting = {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly client_name?: string;
  readonly redirect_uris?: readonly string[];
  readonly grant_types?: readonly string[];
  readonly response_types?: readonly string[];
  readonly scope?: string;
  readonly token_endpoint_auth_method?: string;
  readonly token_endpoint_auth_signing_alg?: string;
  readonly application_type?: string;
  readonly jwks?: Readonly<Record<string, unknown>>;
  readonly jwks_uri?: string;
  readonly client_uri?: string;
  readonly logo_uri?: string;
  readonly tos_uri?: string;
  readonly policy_uri?: string;
  readonly contacts?: readonly string[];
  readonly software_id?: string;
  readonly software_version?: string;
};

const address = textIn('an address');
const page = (what: string) => ({ what, shape: address, otherwise: 'none' });

export const client: Shape<Readonly<Record<string, unknown>>> = object<ClientSetting>({
  client_id: { what: 'its identifier', shape: text, otherwise: MUST },
  client_secret: { what: 'its secret', shape: secret(SHORTEST_SECRET), otherwise: 'none: a public client' },
  client_name: { what: 'what people call it', shape: text, otherwise: 'its identifier' },
  redirect_uris: { what: 'where codes may be sent', shape: listOf(address), otherwise: 'none' },
  grant_types: {
    what: '`authorization_code`, `refresh_token`, `client_credentials`',
    shape: listOf(text),
    otherwise: '`authorization_code`',
  },
  response_types: { what: '`code`', shape: listOf(text), otherwise: 'what the grant types need' },
  scope: {
    what: 'all that it can ever get, with spaces in between',
    shape: textIn('scopes'),
    otherwise: 'no limit',
  },
  token_endpoint_auth_method: {
    what: 'how it proves itself: `client_secret_basic`, `client_secret_post`, `private_key_jwt` or `none`',
    shape: text,
    otherwise: '`client_secret_basic` with a secret, else `none`',
  },
  token_endpoint_auth_signing_alg: {
    what: 'the only algorithm of its assertions',
    shape: text,
    otherwise: 'any',
  },
  application_type: {
    what: '`web` or `native`',
    shape: oneOf('web', 'native'),
    otherwise: 'what its redirect URIs say',
  },
  jwks: { what: 'its public keys', shape: document, otherwise: 'none' },
  jwks_uri: { what: 'where they stand', shape: address, otherwise: 'none' },
  client_uri: page('its home page'),
  logo_uri: page('its logo, which no page of ours loads'),
  tos_uri: page('its terms'),
  policy_uri: page('its privacy notice'),
  contacts: { what: 'who answers for it', shape: listOf(text), otherwise: 'none' },
  software_id: { what: 'which software it is', shape: text, otherwise: 'none' },
  software_version: { what: 'in which version', shape: text, otherwise: 'none' },
});

export const registration: Shape<RegistrationOptions> = object<RegistrationOptions>({
  initialAccessTokens: {
    what: 'who registers has to present one of these as a bearer token',
    shape: listOf(secret(SHORTEST_SECRET), 1),
    otherwise: 'anybody may register',
  },
  invitedOnly: {
    what: 'whether who registers has to present one of those, or an invitation (`portcullis clients invite`)',
    shape: yesOrNo,
    otherwise: '`true` with `initialAccessTokens`, else `false`',
  },
  scope: {
    what: 'whether the scope that a client registers is a `ceiling` for all that it can get, or a `hint`',
    shape: oneOf('ceiling', 'hint'),
    otherwise: '`hint`',
  },
  mostUnused: {
    what: 'how many registrations may wait for their first token',
    shape: wholeNumber(1, 100_000_000, 'a number'),
    otherwise: '20000',
  },
  management: {
    what: 'whether clients may read, change and delete their registrations (RFC 7592)',
    shape: yesOrNo,
    otherwise: 'true',
  },
});

const hosts = listOf(textIn('a host such as `app.example` or `*.app.example`'));

export const metadataDocuments: Shape<DocumentOptions> = object<DocumentOptions>({
  hosts: { what: 'only documents on these hosts', shape: hosts, otherwise: 'any host' },
  refusedHosts: { what: 'never documents on these', shape: hosts, otherwise: 'none' },
});

export type OutboundSetting = Pick<OutboundSettings, 'allowLoopback' | 'timeout'>;

export const outbound: Shape<OutboundSetting> = object<OutboundSetting>({
  allowLoopback: {
    what: 'whether hosts on this computer may be asked, also over http: for development',
    shape: yesOrNo,
    otherwise: 'false',
  },
  timeout: {
    what: 'milliseconds for a whole exchange',
    shape: wholeNumber(1, 600_000, 'milliseconds'),
    otherwise: '5000',
  },
});

const lifetime = (
  name: keyof Lifetimes,
  what: string,
  least = 1,
): { what: string; shape: Shape<number>; otherwise: string } => ({
  what,
  shape: seconds(least),
  otherwise: inWords(defaultLifetimes[name]),
});

export const lifetimes: Shape<Partial<Lifetimes>> = object<Partial<Lifetimes>>({
  accessToken: lifetime('accessToken', 'an access token'),
  code: lifetime('code', 'an authorization code'),
  transaction: lifetime('transaction', 'an authorization request, while its person decides'),
  session: lifetime('session', 'a browser stays signed in'),
  refreshIdle: lifetime('refreshIdle', 'a refresh token that is not used'),
  grant: lifetime('grant', 'a grant, however often it is refreshed'),
  refreshGrace: lifetime(
    'refreshGrace',
    'after its rotation a refresh token still answers with the same successor',
    0,
  ),
  unusedClient: lifetime('unusedClient', 'a client that registered and never got a token'),
  usedClient: lifetime(
    'usedClient',
    'a client that registered, after its last token, unless it holds a live grant',
  ),
});

/** `600 (10 minutes)` */
export function inWords(value: number): string {
  const units = [
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
  ] as const;
  const [unit, size] = units.find(([, seconds]) => value >= seconds && value % seconds === 0) ?? ['', 0];
  if (size === 0) return String(value);
  const count = value / size;
  return `${value} (${count} ${unit}${count === 1 ? '' : 's'})`;
}

export const keys: Shape<KeyOptions> = object<KeyOptions>({
  algorithm: {
    what: 'of keys that are made from now on',
    shape: oneOf('ES256', 'EdDSA', 'RS256'),
    otherwise: '`ES256`',
  },
  rotateEvery: {
    what: 'after so long a key is replaced; `null`: by command only',
    shape: orNull(seconds(1, 100 * 365 * 86_400)),
    otherwise: inWords(90 * 86_400),
  },
  publishedBefore: {
    what: 'for so long a new key is published before it signs',
    shape: seconds(1, 365 * 86_400),
    otherwise: inWords(3600),
  },
});

interface Rate {
  readonly burst: number;
  readonly perMinute: number;
}

const LIMITS: Readonly<Record<keyof LimitOptions, string>> = {
  refreshes: 'refreshes of one grant, over all processes',
  clientTokens: 'tokens that one program gets for itself, over all processes',
  exchanges: 'tokens of third parties that a protected server gets for one grant, over all processes',
  clientFailures: 'failed authentications of one client from one network, over all processes',
  networkFailures: 'failed authentications from one network, over all processes',
  registrations: 'registrations from one network, over all processes',
  authorizations: 'authorization requests of strangers from one network, over all processes',
  departures: 'departures to third parties of one account, or of one request of an app, over all processes',
  signIns: 'attempts to sign in to one account from one network, over all processes',
};

const rate: Shape<Rate> = {
  ...object<Rate>({
    burst: { what: 'at once', shape: wholeNumber(1, 1_000_000_000), otherwise: MUST },
    perMinute: { what: 'a minute', shape: wholeNumber(1, 1_000_000_000), otherwise: MUST },
  }),
  words: '{ burst, perMinute }',
  members: [],
};

export const limits: Shape<LimitOptions> = object<LimitOptions>(
  Object.fromEntries(
    Object.entries(LIMITS).map(([name, what]) => {
      const { burst, perMinute } = defaultLimits[name as keyof LimitOptions];
      return [name, { what, shape: rate, otherwise: `${burst} at once, ${perMinute} a minute` }];
    }),
  ) as unknown as MembersOf<LimitOptions>,
);

type Accent = NonNullable<BrandOptions['accent']>;
type Link = NonNullable<BrandOptions['links']>[number];

const colour = textIn('a colour such as `#1c4fc4`');

const logo: Shape<Uint8Array> = {
  words: 'a PNG, JPEG, WebP or SVG file of at most 64 KiB',
  read(value, origin) {
    if (value instanceof Uint8Array) return value;
    if (typeof value !== 'string') throw new Fault('must name a file');
    return readBytes(value, origin);
  },
};

export const brand: Shape<BrandOptions> = object<BrandOptions>({
  logo: { what: 'shown before the name of the server', shape: logo, otherwise: 'a gate' },
  accent: {
    what: 'the colour of buttons, links and marks',
    shape: object<Accent>({
      light: { what: 'on light pages', shape: colour, otherwise: 'ours' },
      dark: { what: 'on dark pages', shape: colour, otherwise: 'ours' },
    }),
    otherwise: 'ours',
  },
  texts: {
    what: 'other texts than ours, by language (`en`, `de`) and name, with the same places in braces',
    shape: document,
    otherwise: 'ours',
  },
  links: {
    what: 'stand below every page: an imprint, a privacy notice, help',
    shape: listOfObjects(
      object<Link>({
        label: { what: 'what it says', shape: text, otherwise: MUST },
        href: { what: 'where it leads', shape: textIn('an https address'), otherwise: MUST },
      }),
    ),
    otherwise: 'none',
  },
});

/** Characters of a secret that signs for people. */
const SHORTEST_SIGNING_SECRET = 32;

export const headless: Shape<HeadlessOptions> = object<HeadlessOptions>({
  loginUrl: { what: 'where it lets people sign in', shape: address, otherwise: 'our own pages' },
  consentUrl: { what: 'where it asks for consent', shape: address, otherwise: 'our own page' },
  secrets: {
    what: 'what it signs its requests with; any of them is taken, so that one can be replaced',
    shape: listOf(secret(SHORTEST_SIGNING_SECRET), 1),
    otherwise: MUST,
  },
  createAccounts: {
    what: 'whether an address without an account gets one when it says that its owner signed in',
    shape: yesOrNo,
    otherwise: 'false',
  },
});
