/** Every setting of the server: flags, variables, the file, the help texts, docs/configuration.md and the checks come from this table. */
import type { FindWorkspaces } from '@portcullis/authorization-server';
import { secret } from './secret-shape.ts';
import { flagOf, type SettingName, type Settings, variableOf } from './settings.ts';
import * as shape from './shapes.ts';
import * as made from './structured-shapes.ts';
import { client, metadataDocuments, outbound, registration } from './structures/clients.ts';
import { brand, headless } from './structures/pages.ts';
import { limits } from './structures/rate-limits.ts';
import { resource } from './structures/resources.ts';
import { identityProvider } from './structures/third-parties.ts';
import { keys, lifetimes } from './structures/tokens.ts';
import * as word from './words.ts';

/** One of them. */
interface Setting<T> {
  /** Ends the sentence "decides …". */
  readonly what: string;
  /** What stands for the value in the help text; `null`: no flag, for no command line could hold it. */
  readonly placeholder: string | null;
  readonly shape: shape.Shape<NonNullable<T>>;
  /** Taken when nobody says anything. */
  readonly otherwise: T;
  /** How that is named, where the value does not speak for itself. */
  readonly otherwiseText?: string;
  /** What else has to be known, for the documentation. */
  readonly more?: string;
  /** Its value is never shown, and the help text advises against its flag. */
  readonly secret?: true;
}

type Table = { readonly [K in SettingName]: Setting<Settings[K]> };

/** The headings under which settings stand, in their order. */
export const groups: readonly { readonly title: string; readonly names: readonly SettingName[] }[] = [
  { title: 'What is protected', names: ['app', 'resources', 'workspaces'] },
  {
    title: 'Where it is reached',
    names: ['port', 'host', 'publicUrl', 'tlsCert', 'tlsKey', 'trustedProxies'],
  },
  {
    title: 'What is kept, and how it is sealed',
    names: ['database', 'key', 'keyFile', 'previousKey', 'previousKeyFile'],
  },
  { title: 'The first account', names: ['bootstrapEmail', 'bootstrapPassword'] },
  { title: 'Who signs in', names: ['localAccounts', 'identityProviders'] },
  {
    title: 'Clients',
    names: ['clients', 'registration', 'metadataDocuments', 'privateUseSchemes', 'outbound'],
  },
  { title: 'Tokens', names: ['lifetimes', 'keys', 'statusLists'] },
  { title: 'Pages', names: ['name', 'brand', 'externalUi'] },
  { title: 'Operation', names: ['rateLimits', 'log', 'auditRetention', 'metricsToken'] },
  { title: 'Protocol', names: ['profiles', 'metadata', 'config'] },
];

export const table: Table = {
  config: {
    what: 'configuration file: JSON, or a module that exports config',
    placeholder: 'file',
    shape: shape.file,
    otherwise: null,
    more: 'Itself it cannot stand in the file.',
  },
  app: {
    what: 'module of a protected server to serve in the same process, which exports app',
    placeholder: 'file',
    shape: shape.file,
    otherwise: null,
    more: 'Without one, `resources` must name what tokens are for.',
  },
  resources: {
    what: 'protected servers elsewhere, for which tokens are issued',
    placeholder: null,
    shape: made.listOfObjects(resource),
    otherwise: [],
    otherwiseText: 'none',
    more: 'A request that names no `resource` means the application, or without one the first of these.',
  },
  workspaces: {
    what: 'module that says between which workspaces a person chooses on consent; exports findWorkspaces',
    placeholder: null,
    shape: word.moduleOr<FindWorkspaces>('findWorkspaces', (value) => typeof value === 'function'),
    otherwise: null,
    otherwiseText: 'nobody chooses',
  },
  port: {
    what: 'port to listen on; 0 takes any free one',
    placeholder: 'number',
    shape: word.port,
    otherwise: 8484,
  },
  host: {
    what: 'address to listen on',
    placeholder: 'address',
    shape: shape.textIn('an address'),
    otherwise: '127.0.0.1',
    more: 'Beyond this computer only with a certificate or behind `trustedProxies`: passwords and tokens would travel in the clear.',
  },
  publicUrl: {
    what: 'address by which everybody else reaches it: the issuer, byte for byte',
    placeholder: 'url',
    shape: word.publicUrl,
    otherwise: null,
    otherwiseText: 'http://localhost:<port>',
  },
  tlsCert: {
    what: 'PEM file with the certificate to serve https by, and those above it; read again when it changes',
    placeholder: 'file',
    shape: shape.file,
    otherwise: null,
  },
  tlsKey: {
    what: 'PEM file with its private key',
    placeholder: 'file',
    shape: shape.file,
    otherwise: null,
  },
  trustedProxies: {
    what: 'addresses or blocks (10.0.0.0/8) of your proxies, which speak https to everybody; their X-Forwarded headers are believed',
    placeholder: 'list',
    shape: made.listOf(word.addressBlock),
    otherwise: [],
    otherwiseText: 'none',
  },
  database: {
    what: 'SQLite file, :memory:, or a postgres:// URL',
    placeholder: 'location',
    shape: word.database,
    otherwise: 'data/portcullis.db',
    more: 'A password that is left out of the address is taken from the variable `PGPASSWORD`.',
  },
  key: {
    what: 'sealing key: 32 random bytes in base64url',
    placeholder: 'key',
    shape: word.masterKey,
    otherwise: null,
    otherwiseText: 'taken from the key file',
    secret: true,
  },
  keyFile: {
    what: 'file with the sealing key',
    placeholder: 'file',
    shape: shape.file,
    otherwise: null,
    otherwiseText: 'data/portcullis.key, made at the first start',
    more: 'Back it up, but not beside the database: without it nothing in the database that is sealed can be opened.',
  },
  previousKey: {
    what: 'sealing key that was replaced, while retries of refreshes from before may come',
    placeholder: 'key',
    shape: word.masterKey,
    otherwise: null,
    secret: true,
  },
  previousKeyFile: {
    what: 'file with the sealing key that was replaced',
    placeholder: 'file',
    shape: shape.file,
    otherwise: null,
  },
  bootstrapEmail: {
    what: 'e-mail address of the first account, made when there is none',
    placeholder: 'address',
    shape: shape.textIn('an address'),
    otherwise: null,
    otherwiseText: 'a setup link is printed',
    more: 'Once there is an account, this and its password change nothing.',
  },
  bootstrapPassword: {
    what: 'its password, by the rules of the sign-in page',
    placeholder: 'password',
    shape: { ...secret(1), words: 'at least ten characters, none of the first guesses' },
    otherwise: null,
    otherwiseText: 'a setup link is printed',
    secret: true,
  },
  localAccounts: {
    what: 'whether people have accounts of this server; false leaves third parties as the only way in',
    placeholder: null,
    shape: shape.yesOrNo,
    otherwise: true,
  },
  identityProviders: {
    what: 'by whose accounts people may sign in as well, and whose tokens their grants then rest on',
    placeholder: null,
    shape: made.listOfObjects(identityProvider),
    otherwise: [],
    otherwiseText: 'none',
    more: 'Register `<origin of the public URL>/callback/<id>` as the redirect URI there; `portcullis up` prints it.',
  },
  clients: {
    what: 'clients that you set up: RFC 7591 metadata with client_id and, for confidential ones, client_secret',
    placeholder: null,
    shape: made.listOfObjects(client),
    otherwise: [],
    otherwiseText: 'none',
    more: '`portcullis clients add` keeps them in the database instead.',
  },
  registration: {
    what: 'whether anybody may register a client, and by what rules (RFC 7591)',
    placeholder: null,
    shape: made.yesNoOr(registration),
    otherwise: true,
    otherwiseText: 'anybody may',
  },
  metadataDocuments: {
    what: 'whether clients may be named by the address of a document that describes them, and on which hosts',
    placeholder: null,
    shape: made.yesNoOr(metadataDocuments),
    otherwise: true,
    otherwiseText: 'on any host',
  },
  privateUseSchemes: {
    what: 'private-use schemes that redirect URIs may have, such as "cursor"',
    placeholder: null,
    shape: made.listOf(word.scheme),
    otherwise: [],
    otherwiseText: 'none',
    more: 'Cursor registers `cursor` beside an address on loopback, and does without. A redirect URI that is not allowed is left out of its registration as long as another remains.',
  },
  outbound: {
    what: 'how hosts are asked that clients name, for their documents and keys',
    placeholder: null,
    shape: outbound,
    otherwise: {},
    otherwiseText: 'public hosts only, over https',
  },
  lifetimes: {
    what: 'how long things live, in seconds',
    placeholder: null,
    shape: lifetimes,
    otherwise: {},
    otherwiseText: 'as below',
  },
  keys: {
    what: 'keys that sign access tokens',
    placeholder: null,
    shape: keys,
    otherwise: {},
    otherwiseText: 'as below',
  },
  statusLists: {
    what: 'whether the status of access tokens is published (IETF Token Status List) for guards elsewhere that poll it',
    placeholder: null,
    shape: shape.yesOrNo,
    otherwise: false,
    more: 'Anybody can then see how many tokens were revoked in the last hour or so, and by their numbers how many grants there are, to some hundreds.',
  },
  rateLimits: {
    what: 'how often what may be done, each { burst, perMinute }; false for as often as anybody likes',
    placeholder: null,
    shape: made.falseOr(limits),
    otherwise: {},
    otherwiseText: 'as below',
  },
  name: {
    what: 'what people call this authorization server',
    placeholder: 'text',
    shape: shape.text,
    otherwise: null,
    otherwiseText: 'the host of the public URL',
  },
  brand: {
    what: 'what the pages look like and say',
    placeholder: null,
    shape: brand,
    otherwise: {},
    otherwiseText: 'as below',
  },
  externalUi: {
    what: 'application of yours that shows sign-in or consent in the place of our pages',
    placeholder: null,
    shape: headless,
    otherwise: null,
  },
  log: {
    what: 'how events are printed: text, json or none',
    placeholder: 'form',
    shape: shape.oneOf('text', 'json', 'none'),
    otherwise: 'text',
  },
  auditRetention: {
    what: 'seconds for which events are kept in the database; 0: they are not',
    placeholder: 'seconds',
    shape: word.seconds(0, 100 * 365 * 86_400),
    otherwise: 90 * 86_400,
    otherwiseText: '90 days',
  },
  metricsToken: {
    what: 'bearer token for /metrics; without one, programs on this computer alone may read it, and nobody when the public URL is one of elsewhere',
    placeholder: 'token',
    shape: secret(1),
    otherwise: null,
    secret: true,
  },
  profiles: {
    what: 'revisions served, by date',
    placeholder: null,
    shape: made.listOf(word.profile, 1),
    otherwise: null,
    otherwiseText: 'all',
  },
  metadata: {
    what: 'whether metadata documents are published; false makes a Profile A server with default paths',
    placeholder: null,
    shape: shape.yesOrNo,
    otherwise: true,
  },
};

/** In the order of the help text. */
export const settingNames: readonly SettingName[] = groups.flatMap(({ names }) => names);

/** How messages call a setting that may have been said in any way: `PORTCULLIS_DATABASE (--database)`. */
export function titleOf(name: SettingName): string {
  return hasFlag(name) ? `${variableOf(name)} (${flagOf(name)})` : name;
}

/** How messages call a setting, where somebody knows how it was said. */
export type NameOf = (name: SettingName) => string;

export function hasFlag(name: SettingName): boolean {
  return table[name].placeholder !== null;
}

export function isInFile(name: SettingName): boolean {
  return name !== 'config';
}

/** The variable that names a file with a secret, as container platforms mount them; `null`: there is none, or it is a setting itself. */
export function fileVariableOf(name: SettingName): string | null {
  return table[name].secret && !Object.hasOwn(table, `${name}File`) ? `${variableOf(name)}_FILE` : null;
}

/** What is taken when nobody says anything, in words. */
export function otherwiseOf(name: SettingName): string {
  const { otherwise, otherwiseText } = table[name];
  return otherwise === null || otherwiseText !== undefined ? (otherwiseText ?? 'none') : String(otherwise);
}
