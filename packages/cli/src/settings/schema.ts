/** The settings of the command line: the options of the authorization server, and what the program itself needs to know. */
import type { FindWorkspaces } from '@portcullis/authorization-server';
import {
  checkedText,
  custom,
  lazy,
  list,
  type OptionDefinition,
  object,
  oneOf,
  optionDefinitions,
  optionMeta,
  type RuledOptions,
  secret,
  text,
  union,
  wholeNumber,
} from '@portcullis/authorization-server/options';
import { type GatewayServerOptions, serversSchema } from '@portcullis/gateway/options';
import { issuerError, parseCidrBlock } from '@portcullis/protocol';
import * as z from 'zod';

/** Settings of the program itself. `null`: not set. */
interface ProgramSettings {
  readonly config: string | null;
  readonly app: string | null;
  readonly servers: readonly GatewayServerOptions[];
  /** A module, or in a configuration module the function itself. */
  readonly workspaces: string | FindWorkspaces | null;
  readonly port: number;
  readonly host: string;
  readonly publicUrl: string | null;
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly trustedProxies: readonly string[];
  readonly strippedPrefix: string | null;
  readonly database: string;
  readonly databaseTimeout: number;
  readonly databasePoolSize: number;
  readonly drain: number;
  readonly processes: number | 'auto';
  readonly key: Uint8Array | null;
  readonly keyFile: string | null;
  readonly previousKey: Uint8Array | null;
  readonly previousKeyFile: string | null;
  readonly bootstrapEmail: string | null;
  readonly bootstrapPassword: string | null;
  readonly log: 'text' | 'json' | 'none';
  readonly metricsToken: string | null;
}

/** All settings, validated. */
export type Settings = ProgramSettings & Omit<RuledOptions, 'issuer' | keyof ProgramSettings>;

export type SettingName = keyof Settings;

interface SettingDefinition extends OptionDefinition<unknown> {
  /** Stands for the value in the help text; without one there is no flag, because no command line could hold the value. */
  readonly placeholder?: string;
  /** The value is never shown, and the help text advises against the flag. */
  readonly isSecret?: true;
}

const file = lazy(() => text('a file'));

/** 32 bytes as base64url (43 characters), base64 (44) or hexadecimal (64). */
export const masterKey: () => z.ZodType<Uint8Array> = lazy(() =>
  z
    .string('must be 32 random bytes in base64url: openssl rand -base64 32')
    .transform((value, { addIssue }) => {
      const written = value.trim();
      const bytes = /^[0-9a-f]{64}$/i.test(written)
        ? Buffer.from(written, 'hex')
        : /^[\w+/-]{43}=?$/.test(written)
          ? Buffer.from(written, 'base64url')
          : null;
      if (bytes?.length === 32) return new Uint8Array(bytes);
      addIssue({ code: 'custom', message: 'must be 32 random bytes in base64url: openssl rand -base64 32' });
      return z.NEVER;
    })
    .register(optionMeta, { kind: '32 random bytes in base64url, base64 or hexadecimal', isSecret: true }),
);

/** The origin where everything is served: the issuer, kept byte for byte. */
const publicUrl = lazy(() =>
  checkedText('an https URL without a path', (url) => {
    const issue = issuerError(url);
    if (issue !== null) return issue;
    return new URL(url).pathname === '/' ? null : 'must have no path: everything is served at the root';
  }),
);

const database = lazy(() =>
  checkedText('a file, `:memory:` or a `postgres://` URL', (location) => {
    const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(location)?.[1]?.toLowerCase();
    if (scheme === undefined) return null;
    if (!['postgres', 'postgresql'].includes(scheme)) return 'must be a file, :memory:, or a postgres:// URL';
    return URL.canParse(location) ? null : 'is not a well-formed URL';
  }),
);

const trustedProxies = lazy(() =>
  list(
    checkedText('an IP address or a block such as `10.0.0.0/8`', (block) =>
      parseCidrBlock(block) === null ? 'must be an IP address, or a block such as 10.0.0.0/8' : null,
    ),
  ),
);

const strippedPrefix = lazy(() =>
  checkedText('a path such as `/tools`', (path) =>
    /^(?:\/[\w.~-]+)+$/.test(path) && !/\/\.{1,2}(?:\/|$)/.test(path)
      ? null
      : 'must be a path such as /tools',
  ),
);

const SETUP_LINK = 'a setup link is printed';

/** Every setting, in the order of the help texts and the documentation. */
export const settingDefinitions: Readonly<Record<SettingName, SettingDefinition>> = {
  app: {
    schema: file,
    description: 'module of a protected server to serve in the same process; exports app',
    placeholder: 'file',
    note: 'Without one, `servers` or `resources` must list the servers that tokens are for.',
  },
  servers: {
    schema: serversSchema,
    default: [],
    description: 'MCP servers without authorization of their own, which the gateway in this process protects',
    defaultText: 'none',
    note: 'Read again on SIGHUP and when the configuration file changes: [gateway.md](gateway.md).',
  },
  resources: { ...optionDefinitions.resources, default: [] },
  workspaces: {
    schema: lazy(() =>
      union(
        'a module that exports `findWorkspaces`',
        text('a module that exports `findWorkspaces`'),
        custom<FindWorkspaces>('a function', (value) => typeof value === 'function'),
      ),
    ),
    ...pick(optionDefinitions.workspaces),
  },
  port: {
    schema: lazy(() => wholeNumber(0, 65_535)),
    default: 8484,
    description: 'port to listen on; 0 takes any free port',
    placeholder: 'number',
  },
  host: {
    schema: lazy(() => text('an address')),
    default: '127.0.0.1',
    description: 'address to listen on',
    placeholder: 'address',
    note: 'Any address but loopback needs a certificate or `trustedProxies`: passwords and tokens would be sent unencrypted.',
  },
  publicUrl: {
    schema: publicUrl,
    description: 'URL by which clients reach the server: the issuer, byte for byte',
    defaultText: 'http://localhost:<port>',
    placeholder: 'url',
  },
  tlsCert: {
    schema: file,
    description: 'PEM file with the TLS certificate chain; read again when it changes',
    placeholder: 'file',
  },
  tlsKey: { schema: file, description: 'PEM file with its private key', placeholder: 'file' },
  trustedProxies: {
    schema: trustedProxies,
    default: [],
    description:
      'addresses or blocks (10.0.0.0/8) of your TLS-terminating proxies; their X-Forwarded headers are trusted',
    defaultText: 'none',
    placeholder: 'list',
  },
  strippedPrefix: {
    schema: strippedPrefix,
    description: 'path prefix of `servers` that your proxy removes before it forwards a request',
    defaultText: 'none: the proxy forwards paths as they are',
    placeholder: 'path',
    note: 'The paths in `servers` contain it: with `/tools`, the server `/tools/files` is also reached at `/files`.',
  },
  database: {
    schema: database,
    default: 'data/portcullis.db',
    description: 'SQLite file, :memory:, or a postgres:// URL',
    placeholder: 'location',
    note: 'A password that the URL leaves out is taken from the variable `PGPASSWORD`.',
  },
  databaseTimeout: {
    schema: lazy(() => wholeNumber(1, 60, 'a whole number of seconds')),
    default: 5,
    description: 'how long an operation waits for a locked or silent database before it is answered with 503',
    placeholder: 'seconds',
    note: 'PostgreSQL itself gives up after four fifths of it (`statement_timeout`), so that nothing is committed after its request has failed.',
  },
  databasePoolSize: {
    schema: lazy(() => wholeNumber(1, 1000)),
    default: 10,
    description: 'the most PostgreSQL connections that this process opens',
    placeholder: 'number',
    note: 'All processes together, and one for each command, must stay below `max_connections`.',
  },
  drain: {
    schema: lazy(() => wholeNumber(0, 300, 'a whole number of seconds')),
    default: 3,
    description:
      'how long, after SIGTERM, `/readyz` says 503 while everything is still served; only if it was asked in the last minute',
    placeholder: 'seconds',
    note: 'At least as long as load balancers take to notice.',
  },
  key: {
    schema: masterKey,
    description: 'master key: 32 random bytes in base64url',
    defaultText: 'read from the key file',
    placeholder: 'key',
    isSecret: true,
  },
  keyFile: {
    schema: file,
    description: 'file with the master key',
    defaultText: 'data/portcullis.key, generated at the first start',
    placeholder: 'file',
    note: 'Back it up, but not beside the database: without it nothing that is encrypted in the database can be decrypted.',
  },
  previousKey: {
    schema: masterKey,
    description: 'master key that was replaced, while clients may still retry earlier refreshes',
    placeholder: 'key',
    isSecret: true,
  },
  previousKeyFile: {
    schema: file,
    description: 'file with the master key that was replaced',
    placeholder: 'file',
  },
  bootstrapEmail: {
    schema: lazy(() => text('an email address')),
    description: 'email address of the first account, created when there is none',
    defaultText: SETUP_LINK,
    placeholder: 'address',
    note: 'Once there is an account, this and its password have no effect.',
  },
  bootstrapPassword: {
    schema: lazy(() => secret()),
    description: 'its password: at least ten characters, not a common password',
    defaultText: SETUP_LINK,
    placeholder: 'password',
    isSecret: true,
  },
  localAccounts: optionDefinitions.localAccounts,
  identityProviders: optionDefinitions.identityProviders,
  assertionIssuers: optionDefinitions.assertionIssuers,
  assertionAudiences: optionDefinitions.assertionAudiences,
  clients: optionDefinitions.clients,
  registration: optionDefinitions.registration,
  metadataDocuments: optionDefinitions.metadataDocuments,
  privateUseSchemes: optionDefinitions.privateUseSchemes,
  outbound: optionDefinitions.outbound,
  offerOtherScopes: optionDefinitions.offerOtherScopes,
  lifetimes: optionDefinitions.lifetimes,
  acceptNewerRefreshTokens: optionDefinitions.acceptNewerRefreshTokens,
  keys: optionDefinitions.keys,
  statusLists: optionDefinitions.statusLists,
  personalAccessTokens: optionDefinitions.personalAccessTokens,
  deviceAuthorization: optionDefinitions.deviceAuthorization,
  requireDpopNonces: optionDefinitions.requireDpopNonces,
  name: { ...optionDefinitions.name, placeholder: 'text' },
  brand: optionDefinitions.brand,
  externalUi: optionDefinitions.externalUi,
  rateLimits: optionDefinitions.rateLimits,
  processes: {
    schema: lazy(() => union('`auto` or a whole number from 1 to 256', oneOf('auto'), wholeNumber(1, 256))),
    default: 1,
    description: 'processes that serve requests at this address; auto starts one for each core',
    placeholder: 'number',
    note: 'With more than one, SIGHUP replaces them one after another: [operating.md](operating.md#several-processes).',
  },
  log: {
    schema: lazy(() => oneOf('text', 'json', 'none')),
    default: 'text',
    description: 'how events are logged: text, json or none',
    placeholder: 'format',
  },
  auditRetention: { ...optionDefinitions.auditRetention, placeholder: 'seconds' },
  auditLevel: { ...optionDefinitions.auditLevel, placeholder: 'level' },
  metricsToken: {
    schema: lazy(() => secret()),
    description:
      'bearer token for /metrics; without one, only loopback clients may read it, and no client if the public URL is not loopback',
    placeholder: 'token',
    isSecret: true,
  },
  profiles: optionDefinitions.profiles,
  metadata: optionDefinitions.metadata,
  config: {
    schema: file,
    description: 'configuration file: JSON, or a module that exports config',
    placeholder: 'file',
    note: 'Cannot be set in the file itself.',
  },
};

function pick({
  description,
  defaultText,
}: OptionDefinition<unknown>): Pick<SettingDefinition, 'description' | 'defaultText'> {
  return {
    ...(description !== undefined && { description }),
    ...(defaultText !== undefined && { defaultText }),
  };
}

/** The headings of the documentation, and the first setting below each. */
export const headings: Readonly<Partial<Record<SettingName, string>>> = {
  app: 'Protected servers',
  port: 'Network',
  database: 'Storage and encryption',
  bootstrapEmail: 'First account',
  localAccounts: 'Sign-in',
  clients: 'Clients',
  lifetimes: 'Tokens',
  name: 'Pages',
  rateLimits: 'Operation',
  profiles: 'Protocol',
};

export const settingNames: readonly SettingName[] = Object.keys(settingDefinitions) as SettingName[];

/** The schema of a configuration file, for the JSON Schema. */
export function fileSchema(): z.ZodType {
  const shape = settingNames.filter(isInFile).map((name) => {
    const { schema, description = '', default: value } = settingDefinitions[name];
    return [
      name,
      schema()
        .optional()
        .meta({ description, ...(isPlain(value) && { default: value }) }),
    ];
  });
  return object({ $schema: z.string().optional(), ...Object.fromEntries(shape) });
}

function isPlain(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** `publicUrl` → `PORTCULLIS_PUBLIC_URL` */
export function variableOf(name: SettingName): string {
  return `PORTCULLIS_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** `publicUrl` → `--public-url` */
export function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Names a setting that may be set in any way: `PORTCULLIS_DATABASE (--database)`. */
export function titleOf(name: SettingName): string {
  return hasFlag(name) ? `${variableOf(name)} (${flagOf(name)})` : name;
}

/** Names a setting, or a place in it, as the operator set it: the flag, the variable, or the key and the file. */
export type NameOf = (name: SettingName, path?: readonly string[]) => string;

export function hasFlag(name: SettingName): boolean {
  return settingDefinitions[name].placeholder !== undefined;
}

export function isInFile(name: SettingName): boolean {
  return name !== 'config';
}

/** Whether a setting is passed to the authorization server as it is. */
export function isServerOption(name: SettingName): boolean {
  return name !== 'workspaces' && Object.hasOwn(optionDefinitions, name);
}

/** The variable that names a file with a secret, as container platforms mount them; `null`: there is none, or it is a setting of its own. */
export function fileVariableOf(name: SettingName): string | null {
  const isSecret = settingDefinitions[name].isSecret === true;
  return isSecret && !Object.hasOwn(settingDefinitions, `${name}File`) ? `${variableOf(name)}_FILE` : null;
}

/** The default, for help texts. */
export function defaultOf(name: SettingName): string {
  const { default: value, defaultText } = settingDefinitions[name];
  return defaultText ?? (isPlain(value) ? String(value) : 'none');
}
