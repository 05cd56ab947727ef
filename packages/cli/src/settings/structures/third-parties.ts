/** Third parties as settings: known by name, or by all that there is to say of them. */
import {
  type AllowedUsers,
  auth0,
  type ClientKeyOptions,
  github,
  gitlab,
  google,
  type IdentityProviderOptions,
  keycloak,
  microsoftEntra,
  type OpenIdProvider,
  okta,
  type PlainProvider,
  type PresetOptions,
  slack,
  type UserinfoClaims,
} from '@portcullis/authorization-server';
import { suggestName } from '@portcullis/protocol/option-names';
import { Issue, Issues, readOn } from '../../faults.ts';
import { secret } from '../secret-shape.ts';
import { oneOf, type Shape, text, textIn } from '../shapes.ts';
import { document, listOf, type MembersOf, MUST, mapOf, object } from '../structured-shapes.ts';
import { inWords } from '../times.ts';
import { address, scopes, seconds } from '../words.ts';

type Endpoints = PlainProvider['endpoints'];

const openIdProvider: Shape<OpenIdProvider> = object<OpenIdProvider>({
  issuer: { what: 'of a provider of OpenID Connect: its issuer identifier', shape: address, otherwise: MUST },
});

const plainProvider: Shape<PlainProvider> = object<PlainProvider>({
  endpoints: {
    what: 'of a provider of plain OAuth 2.0',
    shape: object<Endpoints>({
      authorization: { what: 'where people sign in', shape: address, otherwise: MUST },
      token: { what: 'where codes become tokens', shape: address, otherwise: MUST },
      userinfo: {
        what: 'answers JSON that says who the bearer of a token is',
        shape: address,
        otherwise: MUST,
      },
      introspection: { what: 'RFC 7662', shape: address, otherwise: 'none' },
      revocation: { what: 'RFC 7009', shape: address, otherwise: 'none' },
    }),
    otherwise: MUST,
  },
  userinfoClaims: {
    what: 'where in that answer it stands who somebody is, members of members with dots',
    shape: object<UserinfoClaims>({
      subject: {
        what: 'what never changes and is nobody else: no name, no address',
        shape: text,
        otherwise: MUST,
      },
      name: { what: 'what they are called there', shape: text, otherwise: 'nothing' },
    }),
    otherwise: MUST,
  },
  issuer: { what: 'its issuer identifier', shape: address, otherwise: 'its origin' },
  responseFormat: {
    what: 'how its answers differ from the standard',
    shape: oneOf('standard', 'github', 'slack'),
    otherwise: '`standard`',
  },
});

const kind: Shape<IdentityProviderOptions['kind']> = {
  words: 'an object: `issuer` alone for OpenID Connect, else `endpoints` and `userinfoClaims`',
  blank: openIdProvider.blank,
  members: plainProvider.members ?? [],
  read(value, origin) {
    const isPlain = typeof value === 'object' && value !== null && 'endpoints' in value;
    return (isPlain ? plainProvider : openIdProvider).read(value, origin);
  },
};

/** What is said of every third party. */
const common: MembersOf<Omit<IdentityProviderOptions, 'kind'>> = {
  id: {
    what: 'what addresses here call it',
    shape: textIn('lowercase letters, digits, hyphens'),
    otherwise: MUST,
  },
  name: { what: 'what people call it', shape: text, otherwise: MUST },
  clientId: { what: 'what this server is called there', shape: text, otherwise: MUST },
  clientSecret: {
    what: 'its secret there',
    shape: { ...secret(1), words: 'a text, { "file": … } or { "variable": … }' },
    otherwise: 'none: with no key either, a public client',
  },
  clientKey: {
    what: 'in the place of a secret: a private key that never leaves this server',
    shape: object<ClientKeyOptions>({
      key: {
        what: 'the key: PKCS #8 in PEM, or a JWK; EC P-256 or P-384, RSA, Ed25519',
        shape: { ...secret(1), words: 'a text, { "file": … } or { "variable": … }' },
        otherwise: MUST,
      },
      id: { what: 'what it is called there: `kid`', shape: text, otherwise: 'that of the JWK' },
      certificate: {
        what: 'its certificate in PEM, where it is known by that (`x5t#S256`)',
        shape: { ...secret(1), words: 'a text, { "file": … } or { "variable": … }' },
        otherwise: 'none',
      },
      algorithm: {
        what: 'by which it signs',
        shape: oneOf('ES256', 'ES384', 'EdDSA', 'RS256', 'PS256'),
        otherwise: 'that of the key; of RSA `RS256`',
      },
      audience: { what: 'whom assertions are for', shape: text, otherwise: 'the issuer' },
      signer: {
        what: 'who signs, if not the client: the team, at Apple',
        shape: text,
        otherwise: 'the client',
      },
    }),
    otherwise: 'none',
  },
  clientAuthentication: {
    what: 'how the secret is sent, or what the key signs',
    shape: oneOf('client_secret_basic', 'client_secret_post', 'private_key_jwt', 'signed_secret'),
    otherwise: '`client_secret_basic`, with a key `private_key_jwt`',
  },
  responseMode: {
    what: 'how the browser brings its answers',
    shape: oneOf('query', 'form_post'),
    otherwise: '`query`',
  },
  scopes: { what: 'what everybody is asked for there', shape: scopes, otherwise: MUST },
  upstreamScopes: {
    what: 'for scopes of servers here, which scopes there each rests on: `{ "files:write": ["drive"] }`',
    shape: mapOf(scopes, 'an object, a list of their scopes for each of ours'),
    otherwise: 'none rests on any',
  },
  parameters: {
    what: 'more parameters of the authorization request there',
    shape: mapOf(text, 'an object of texts'),
    otherwise: 'none',
  },
  allowedUsers: {
    what: 'who may sign in; all that is said must hold',
    shape: object<AllowedUsers>({
      subjects: { what: 'these people there', shape: listOf(text), otherwise: 'anybody' },
      emailDomains: {
        what: 'addresses that it has verified, in these domains',
        shape: listOf(text),
        otherwise: 'any',
      },
      claims: {
        what: 'claims, and the values of which each must have one: `{ "hd": ["example.org"] }`',
        shape: mapOf(listOf(text), 'an object of lists'),
        otherwise: 'any',
      },
    }),
    otherwise: 'whoever the third party lets in',
  },
  status: {
    what: 'how it is learnt that their token still stands',
    shape: oneOf('introspection', 'userinfo', 'expiry'),
    otherwise: 'the best way that there is',
  },
  statusCheckInterval: {
    what: 'within so many seconds it is noticed that the third party has ended what it gave',
    shape: seconds(1, 86_400),
    otherwise: inWords(60),
  },
  revocationEnds: {
    what: 'what revoking one token there ends: that `grant`, or `everything` of its person and this server',
    shape: oneOf('grant', 'everything'),
    otherwise: '`grant`',
  },
};

const whole: Shape<IdentityProviderOptions> = object<IdentityProviderOptions>({
  ...common,
  kind: { what: 'how it is found and spoken to; left out with a `preset`', shape: kind, otherwise: MUST },
});

/** Third parties that are known by name, and what has to be said of each besides the client that was registered there. */
type Known = PresetOptions & {
  readonly preset: string;
  readonly tenant?: string;
  readonly domain?: string;
  readonly server?: string;
  readonly url?: string;
  readonly realm?: string;
};
type Place = Exclude<keyof Known, keyof PresetOptions | 'preset'>;

interface Preset {
  readonly needs: readonly Place[];
  readonly takes?: readonly Place[];
  make(options: PresetOptions, places: Readonly<Record<Place, string>>): IdentityProviderOptions;
}

const presets: Readonly<Record<string, Preset>> = {
  github: { needs: [], make: github },
  google: { needs: [], make: google },
  'microsoft-entra': { needs: ['tenant'], make: (options, { tenant }) => microsoftEntra(tenant, options) },
  okta: {
    needs: ['domain'],
    takes: ['server'],
    make: (options, { domain, server }) =>
      server === '' ? okta(domain, options) : okta(domain, options, server),
  },
  auth0: { needs: ['domain'], make: (options, { domain }) => auth0(domain, options) },
  keycloak: { needs: ['url', 'realm'], make: (options, { url, realm }) => keycloak(url, realm, options) },
  gitlab: {
    needs: [],
    takes: ['url'],
    make: (options, { url }) => (url === '' ? gitlab(options) : gitlab(options, url)),
  },
  slack: { needs: [], make: slack },
};
const presetNames = Object.keys(presets);

const place = (what: string) => ({ what, shape: text, otherwise: 'what the preset needs' });

const presetMembers: Pick<MembersOf<Known>, 'preset' | Place> = {
  preset: {
    what: `a third party that is known by name: ${presetNames.map((name) => `\`${name}\``).join(', ')}. What it knows may be said differently`,
    shape: text,
    otherwise: 'none',
  },
  tenant: place('of `microsoft-entra`: the identifier of the organization'),
  domain: place('of `okta` and `auth0`: such as `example.okta.com`'),
  server: place('of `okta`: a custom authorization server, such as `default`'),
  url: place('of `keycloak` and `gitlab`: where it stands'),
  realm: place('of `keycloak`'),
};

const byName: Shape<Known> = object<Known>({
  ...presetMembers,
  ...common,
  id: { ...common.id, otherwise: 'the preset' },
  name: { ...common.name, otherwise: 'the preset' },
  scopes: { ...common.scopes, otherwise: 'the preset' },
});

function readByName(value: unknown, origin: Parameters<Shape<unknown>['read']>[1]): IdentityProviderOptions {
  const issues: Issue[] = [];
  const read = readOn(issues, () => byName.read(value, origin)) ?? byName.blank;
  const { preset: name, tenant, domain, server, url, realm, ...options } = read;
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined;
  if (preset === undefined) {
    const unknown = new Issue(`is none that is known: ${suggestName(name, presetNames)}`, ['preset']);
    throw new Issues(name === '' ? issues : [...issues, unknown]);
  }
  const places = { tenant, domain, server, url, realm };
  const known = new Set(issues.flatMap(({ path: [member], meant }) => [member, meant]));
  for (const [member, said] of Object.entries(places) as [Place, string | undefined][]) {
    if (known.has(member)) continue;
    if (said === undefined && preset.needs.includes(member)) {
      issues.push(new Issue(`is missing: ${presetMembers[member].what.replaceAll('`', '')}`, [member]));
    }
    if (said !== undefined && ![...preset.needs, ...(preset.takes ?? [])].includes(member)) {
      issues.push(new Issue(`says nothing of ${name}: leave it out`, [member]));
    }
  }
  const said = (text: string | undefined) => text ?? '';
  const made = preset.make(options, {
    tenant: said(tenant),
    domain: said(domain),
    server: said(server),
    url: said(url),
    realm: said(realm),
  });
  if (issues.length > 0) throw new Issues(issues, made);
  return made;
}

export const identityProvider: Shape<IdentityProviderOptions> = {
  ...whole,
  members: [
    ...(byName.members ?? []).filter(({ name }) => Object.hasOwn(presetMembers, name)),
    ...(whole.members ?? []),
  ],
  read(value, origin) {
    return 'preset' in document.read(value, origin) ? readByName(value, origin) : whole.read(value, origin);
  },
};

/** As it stands in a file. */
export type IdentityProviderSetting = IdentityProviderOptions | Known;
