/** Every setting of `portcullis up`: flags, environment variables, keys of the file and the help text come from this table. */
import {
  defaultLifetimes,
  defaultLimits,
  type KeyOptions,
  type Lifetimes,
  type LimitOptions,
} from '@portcullis/authorization-server';
import type { Profile } from '@portcullis/protocol';
import * as read from './readers.ts';

/** What an operator has decided. `null`: nothing, and the program does what the help text says. */
export interface Settings {
  readonly config: string | null;
  readonly app: string | null;
  readonly port: number;
  readonly host: string;
  readonly publicUrl: string | null;
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly trustedProxies: readonly string[];
  readonly name: string | null;
  readonly database: string;
  readonly key: Uint8Array | null;
  readonly keyFile: string | null;
  readonly previousKey: Uint8Array | null;
  readonly previousKeyFile: string | null;
  readonly bootstrapEmail: string | null;
  readonly bootstrapPassword: string | null;
  readonly log: 'text' | 'json' | 'none';
  readonly metricsToken: string | null;
  readonly keepEvents: number;
  readonly metadata: boolean;
  readonly registration: boolean;
  readonly profiles: readonly Profile[] | null;
  readonly privateUseSchemes: readonly string[];
  readonly lifetimes: Partial<Lifetimes>;
  readonly keys: KeyOptions;
  readonly limits: LimitOptions | false;
  readonly clients: readonly Readonly<Record<string, unknown>>[];
}

/**
 * What a configuration file may hold, any of it. Profiles may be named by their date, and whatever is a text elsewhere may be one here.
 */
export type FileConfiguration = {
  readonly [K in Exclude<keyof Settings, 'config'>]?: FileValue<NonNullable<Settings[K]>>;
};

type FileValue<T> = T extends Uint8Array
  ? string
  : T extends readonly Profile[]
    ? readonly (Profile | string)[]
    : T;

/** One of them. */
interface Setting<T> {
  /** Ends the sentence "decides …". */
  readonly what: string;
  /** What stands for the value in the help text. */
  readonly placeholder: string;
  readonly reader: read.Reader<T>;
  /** Taken when nobody says anything. */
  readonly otherwise: T;
  /** How the help text names that, where the value does not speak for itself. */
  readonly otherwiseText?: string;
  /** Where it may stand; everywhere when left out. */
  readonly only?: 'file' | 'outside the file';
  /** Its value is never shown, and the help text advises against its flag. */
  readonly secret?: true;
}

type Table = { readonly [K in keyof Settings]: Setting<Settings[K]> };

const limitNames = Object.keys(defaultLimits) as (keyof LimitOptions)[];
const lifetimeNames = Object.keys(defaultLifetimes) as (keyof Lifetimes)[];

export const table: Table = {
  config: {
    what: 'configuration file: JSON, or a module that exports config',
    placeholder: 'file',
    reader: read.text,
    otherwise: null,
    only: 'outside the file',
  },
  app: {
    what: 'module of the protected server, which exports app',
    placeholder: 'file',
    reader: read.text,
    otherwise: null,
    otherwiseText: 'must be said',
  },
  port: {
    what: 'port to listen on; 0 takes any free one',
    placeholder: 'number',
    reader: read.wholeNumber(0, 65_535),
    otherwise: 8484,
  },
  host: {
    what: 'address to listen on',
    placeholder: 'address',
    reader: read.text,
    otherwise: '127.0.0.1',
  },
  publicUrl: {
    what: 'address by which everybody else reaches it: the issuer, byte for byte',
    placeholder: 'url',
    reader: read.publicUrl,
    otherwise: null,
    otherwiseText: 'http://localhost:<port>',
  },
  tlsCert: {
    what: 'PEM file with the certificate to serve https by, and those above it; read again when it changes',
    placeholder: 'file',
    reader: read.text,
    otherwise: null,
  },
  tlsKey: {
    what: 'PEM file with its private key',
    placeholder: 'file',
    reader: read.text,
    otherwise: null,
  },
  trustedProxies: {
    what: 'addresses or blocks (10.0.0.0/8) of your proxies, which speak https to everybody; their X-Forwarded headers are believed',
    placeholder: 'list',
    reader: read.addressBlocks,
    otherwise: [],
    otherwiseText: 'none',
  },
  name: {
    what: 'what people call this authorization server',
    placeholder: 'text',
    reader: read.text,
    otherwise: null,
    otherwiseText: 'the host of the public URL',
  },
  database: {
    what: 'SQLite file, :memory:, or a postgres:// URL',
    placeholder: 'location',
    reader: read.database,
    otherwise: 'data/portcullis.db',
  },
  key: {
    what: 'sealing key: 32 random bytes in base64url',
    placeholder: 'key',
    reader: read.sealingKey,
    otherwise: null,
    otherwiseText: 'taken from the key file',
    secret: true,
  },
  keyFile: {
    what: 'file with the sealing key',
    placeholder: 'file',
    reader: read.text,
    otherwise: null,
    otherwiseText: 'data/portcullis.key, made when it is missing',
  },
  previousKey: {
    what: 'sealing key that was replaced, while retries of refreshes from before may come',
    placeholder: 'key',
    reader: read.sealingKey,
    otherwise: null,
    secret: true,
  },
  previousKeyFile: {
    what: 'file with the sealing key that was replaced',
    placeholder: 'file',
    reader: read.text,
    otherwise: null,
  },
  bootstrapEmail: {
    what: 'e-mail address of the first account, made when there is none',
    placeholder: 'address',
    reader: read.text,
    otherwise: null,
    otherwiseText: 'a setup link is printed',
  },
  bootstrapPassword: {
    what: 'its password',
    placeholder: 'password',
    reader: read.text,
    otherwise: null,
    otherwiseText: 'a setup link is printed',
    secret: true,
  },
  log: {
    what: 'how events are printed: text, json or none',
    placeholder: 'form',
    reader: read.oneOf('text', 'json', 'none'),
    otherwise: 'text',
  },
  metricsToken: {
    what: 'bearer token for /metrics; without one, only programs on this computer may read it',
    placeholder: 'token',
    reader: read.text,
    otherwise: null,
    secret: true,
  },
  keepEvents: {
    what: 'seconds for which events are kept in the database; 0: they are not',
    placeholder: 'seconds',
    reader: read.wholeNumber(0, 100 * 365 * 86_400),
    otherwise: 90 * 86_400,
    otherwiseText: '90 days',
  },
  metadata: {
    what: 'whether metadata documents are published; false makes a Profile A server with default paths',
    placeholder: 'boolean',
    reader: read.yesOrNo,
    otherwise: true,
    only: 'file',
  },
  registration: {
    what: 'whether anybody may register a client',
    placeholder: 'boolean',
    reader: read.yesOrNo,
    otherwise: true,
    only: 'file',
  },
  profiles: {
    what: 'revisions served, by date',
    placeholder: 'array',
    reader: read.listOf(read.profile, 1),
    otherwise: null,
    otherwiseText: 'all',
    only: 'file',
  },
  privateUseSchemes: {
    what: 'private-use schemes that redirect URIs may have, such as "cursor"',
    placeholder: 'array',
    reader: read.listOf(read.scheme),
    otherwise: [],
    otherwiseText: 'none',
    only: 'file',
  },
  lifetimes: {
    what: `seconds, by name: ${lifetimeNames.join(', ')}`,
    placeholder: 'object',
    reader: read.members(lifetimeNames, read.wholeNumber(0, 10 * 365 * 86_400)),
    otherwise: {},
    otherwiseText: 'see the documentation',
    only: 'file',
  },
  keys: {
    what: 'signing keys: algorithm (ES256, EdDSA, RS256), rotateEvery and publishedBefore in seconds',
    placeholder: 'object',
    reader: read.shape<KeyOptions>({
      algorithm: read.oneOf('ES256', 'EdDSA', 'RS256'),
      rotateEvery: read.orNull(read.wholeNumber(1, 100 * 365 * 86_400)),
      publishedBefore: read.wholeNumber(1, 365 * 86_400),
    }),
    otherwise: {},
    otherwiseText: 'ES256, a new one every 90 days, published an hour before it signs',
    only: 'file',
  },
  limits: {
    what: `how often what may be done, each { burst, perMinute }: ${limitNames.join(', ')}; false for as often as anybody likes`,
    placeholder: 'object',
    reader: read.limits(limitNames),
    otherwise: {},
    otherwiseText: 'see the documentation',
    only: 'file',
  },
  clients: {
    what: 'clients: RFC 7591 metadata with client_id and, for confidential ones, client_secret',
    placeholder: 'array',
    reader: read.listOf(read.document),
    otherwise: [],
    otherwiseText: 'none',
    only: 'file',
  },
};

export type SettingName = keyof Settings;

/** In the order of the help text. */
export const settingNames: readonly SettingName[] = Object.keys(table) as SettingName[];

/** `publicUrl` → `PORTCULLIS_PUBLIC_URL` */
export function variableOf(name: SettingName): string {
  return `PORTCULLIS_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** `publicUrl` → `--public-url` */
export function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** How messages call a setting. */
export function titleOf(name: SettingName): string {
  return table[name].only === 'file' ? name : variableOf(name);
}

export function isOutside(name: SettingName): boolean {
  return table[name].only !== 'file';
}

export function isInFile(name: SettingName): boolean {
  return table[name].only !== 'outside the file';
}
