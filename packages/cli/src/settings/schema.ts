/** The settings of the command line: the options of the authorization server, and those of the program itself. */
import {
  adminSchema,
  eventExportsSchema,
  mailSchema,
  sharedSignalsSchema,
  webhooksSchema,
} from '@portcullis/admin/options';
import type { FindWorkspaces } from '@portcullis/authorization-server';
import {
  callback,
  checkedText,
  formatDefault,
  type GivenOptions,
  kindOf,
  lazy,
  list,
  type OptionDefinition,
  option,
  optionDefinitions,
  optionMeta,
  optionSections,
  type ParsedOf,
  secret,
  text,
  wholeNumber,
} from '@portcullis/authorization-server/options';
import { policySchema, serversSchema } from '@portcullis/gateway/options';
import { issuerError, parseCidrBlock } from '@portcullis/protocol';
import * as z from 'zod';
import { otlpSchema } from './otlp.ts';

const file = lazy(() => text('a file'));

/** 32 bytes as base64url (43 characters), base64 (44) or hexadecimal (64). */
export const masterKey = lazy(() =>
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

/** The origin where everything is served: the issuer, preserved byte for byte. */
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

/** Settings of the program itself. */
const programSettings = {
  app: option(file, {
    section: 'Protected servers',
    description: 'module of a protected server to serve in the same process; exports app',
    placeholder: 'file',
    note: 'Without one, `servers` or `resources` must list the servers that tokens are for.',
  }),
  servers: option(serversSchema, {
    section: 'Protected servers',
    default: [],
    description: 'MCP servers without authorization of their own, which the gateway in this process protects',
    note: 'Read again on SIGHUP and when the configuration file changes: [gateway.md](gateway.md).',
  }),
  policy: option(policySchema, {
    section: 'Protected servers',
    description: 'an external decision point, asked at consent, when tokens are issued, and about calls',
    note: 'Its decisions only restrict what rules and `scopes` allow: [policy.md](policy.md#an-external-decision-point).',
  }),
  webhooks: option(webhooksSchema, {
    section: 'Operation',
    default: [],
    description: 'addresses to which audit events are delivered as they happen',
    note: 'Signed by Standard Webhooks, at least once, in order: [webhooks.md](guides/webhooks.md).',
  }),
  mail: option(mailSchema, {
    section: 'Operation',
    description: 'the mail server for invitations, reset links and notices',
    defaultText: 'off: an operator passes links on',
    note: 'TLS is required except on loopback: [mail.md](guides/mail.md).',
  }),
  eventExports: option(eventExportsSchema, {
    section: 'Operation',
    default: [],
    description: 'other receivers of audit events: syslog, OCSF, OpenTelemetry logs',
    note: 'Delivered as webhooks are: [webhooks.md](guides/webhooks.md#syslog-ocsf-and-opentelemetry).',
  }),
  sharedSignals: option(sharedSignalsSchema, {
    section: 'Operation',
    description: 'clients that receive security events (CAEP, RISC) about ended access, by event streams',
    defaultText: 'off',
    note: 'The transmitter of the Shared Signals Framework: [shared-signals.md](guides/shared-signals.md).',
  }),
  resources: { ...optionDefinitions.resources, default: [] },
  /** A module, or in a configuration module the function itself. */
  workspaces: {
    ...optionDefinitions.workspaces,
    schema: lazy(() =>
      z
        .union([text('a module that exports `findWorkspaces`'), callback<FindWorkspaces>()])
        .register(optionMeta, { kind: 'a module that exports `findWorkspaces`' }),
    ),
  },
  port: option(() => wholeNumber(0, 65_535), {
    section: 'Network',
    default: 8484,
    description: 'port to listen on; 0 takes any free port',
    placeholder: 'number',
  }),
  host: option(() => text('an address'), {
    section: 'Network',
    default: '127.0.0.1',
    description: 'address to listen on',
    placeholder: 'address',
    note: 'Any address but loopback needs a certificate or `trustedProxies`: passwords and tokens would be sent unencrypted.',
  }),
  publicUrl: option(publicUrl, {
    section: 'Network',
    description: 'URL by which clients reach the server: the issuer, byte for byte',
    defaultText: 'http://localhost:<port>',
    placeholder: 'url',
  }),
  tlsCert: option(file, {
    section: 'Network',
    description: 'PEM file with the TLS certificate chain; read again when it changes',
    placeholder: 'file',
  }),
  tlsKey: option(file, {
    section: 'Network',
    description: 'PEM file with its private key',
    placeholder: 'file',
  }),
  trustedProxies: option(trustedProxies, {
    section: 'Network',
    default: [],
    description:
      'addresses or blocks (10.0.0.0/8) of your TLS-terminating proxies; their X-Forwarded headers are trusted',
    placeholder: 'list',
  }),
  strippedPrefix: option(strippedPrefix, {
    section: 'Network',
    description: 'path prefix of `servers` that your proxy removes before it forwards a request',
    defaultText: 'none: the proxy forwards paths as they are',
    placeholder: 'path',
    note: 'The paths in `servers` contain it: with `/tools`, the server `/tools/files` is also reached at `/files`.',
  }),
  database: option(database, {
    section: 'Storage and encryption',
    default: 'data/portcullis.db',
    description: 'SQLite file, :memory:, or a postgres:// URL',
    placeholder: 'location',
    note: 'A password that the URL leaves out is taken from the variable `PGPASSWORD`.',
  }),
  databaseTimeout: option(() => wholeNumber(1, 60, 'a whole number of seconds'), {
    section: 'Storage and encryption',
    default: 5,
    description: 'how long an operation waits for a locked or silent database before it is answered with 503',
    placeholder: 'seconds',
    note: 'PostgreSQL itself gives up after four fifths of it (`statement_timeout`), so that nothing is committed after its request has failed.',
  }),
  databasePoolSize: option(() => wholeNumber(1, 1000), {
    section: 'Storage and encryption',
    default: 10,
    description: 'the most PostgreSQL connections that this process opens',
    placeholder: 'number',
    note: 'All processes together, and one for each command, must stay below `max_connections`.',
  }),
  drain: option(() => wholeNumber(0, 300, 'a whole number of seconds'), {
    section: 'Storage and encryption',
    default: 3,
    description:
      'how long, after SIGTERM, `/readyz` says 503 while everything is still served; only if it was asked in the last minute',
    placeholder: 'seconds',
    note: 'At least as long as load balancers take to notice.',
  }),
  freshness: option(() => wholeNumber(0, 60, 'a whole number of seconds'), {
    section: 'Storage and encryption',
    default: 0,
    description:
      'how long the gateway and an application in this process accept a token after the last answer of the database, while it is away',
    placeholder: 'seconds',
    note: 'Some seconds ride out a failover: [when ended access takes effect](operating.md#when-ended-access-takes-effect).',
  }),
  shutdownTimeout: option(() => wholeNumber(1, 86_400, 'a whole number of seconds'), {
    section: 'Storage and encryption',
    default: 25,
    description:
      'how long a stopping server waits for requests in progress, after `drain`; what is open then gets an error',
    placeholder: 'seconds',
    note: 'Above `limits.firstByte` (300) no call is lost, if the supervisor waits longer than `drain` + `shutdownTimeout` + 5: [operating.md](operating.md#health-and-shutdown).',
  }),
  key: option(masterKey, {
    section: 'Storage and encryption',
    description: 'master key: 32 random bytes in base64url',
    defaultText: 'read from the key file',
    placeholder: 'key',
    isSecret: true,
  }),
  keyFile: option(file, {
    section: 'Storage and encryption',
    description: 'file with the master key',
    defaultText: 'data/portcullis.key, generated at the first start',
    placeholder: 'file',
    note: 'Back it up, but not beside the database: without it nothing that is encrypted in the database can be decrypted.',
  }),
  previousKey: option(masterKey, {
    section: 'Storage and encryption',
    description: 'master key that was replaced, or is going to be used: accepted, and encrypts nothing',
    placeholder: 'key',
    isSecret: true,
  }),
  previousKeyFile: option(file, {
    section: 'Storage and encryption',
    description: 'file with that master key',
    placeholder: 'file',
  }),
  bootstrapEmail: option(() => text('an email address'), {
    section: 'First account',
    description: 'email address of the first account, created when there is none',
    defaultText: SETUP_LINK,
    placeholder: 'address',
    note: 'Once there is an account, this and its password have no effect.',
  }),
  bootstrapPassword: option(() => secret(), {
    section: 'First account',
    description: 'its password: at least ten characters, not a common password',
    defaultText: SETUP_LINK,
    placeholder: 'password',
    isSecret: true,
  }),
  processes: option(
    () =>
      z
        .union([z.enum(['auto']), wholeNumber(1, 256)])
        .register(optionMeta, { kind: '`auto` or a whole number from 1 to 256' }),
    {
      section: 'Operation',
      default: 1,
      description: 'processes that serve requests at this address; auto starts one for each core',
      placeholder: 'number',
      note: 'With more than one, SIGHUP replaces them one after another: [operating.md](operating.md#several-processes).',
    },
  ),
  log: option(() => z.enum(['text', 'json', 'none']), {
    section: 'Operation',
    default: 'text',
    description: 'how events are logged: text, json or none',
    placeholder: 'format',
  }),
  metricsToken: option(() => secret(), {
    section: 'Operation',
    description:
      'bearer token for /metrics; without one, only loopback clients may read it, and no client if the public URL is not loopback',
    placeholder: 'token',
    isSecret: true,
  }),
  otlp: option(otlpSchema, {
    section: 'Operation',
    description: 'OpenTelemetry collector to which spans and metrics are sent, by OTLP over HTTP',
    defaultText: 'off',
    placeholder: 'url',
    note: 'What is sent, and the packages that it needs: [opentelemetry.md](guides/opentelemetry.md).',
  }),
  admin: option(adminSchema, {
    section: 'Operation',
    description: 'the console, the admin API and its MCP server, for operators; `{}` turns them on',
    defaultText: 'off',
    note: 'Who may use them, and how: [console.md](guides/console.md), [admin-api.md](guides/admin-api.md).',
  }),
  config: option(file, {
    section: 'Operation',
    description: 'configuration file: JSON, or a module that exports config',
    placeholder: 'file',
    note: 'Cannot be set in the file itself.',
  }),
};

/** The serializable options of the authorization server, with their sections. */
const serverSettings = Object.fromEntries(
  Object.entries<OptionDefinition>(optionDefinitions).filter(([, { section }]) => section !== undefined),
) as Pick<typeof optionDefinitions, WithSection<typeof optionDefinitions>>;

/** Without a section, only code can set an option. */
type WithSection<T> = { [K in keyof T]: T[K] extends { readonly section: string } ? K : never }[keyof T];

/** The program's settings first; they override some of the server's. */
const allSettings = { ...programSettings, ...serverSettings, ...programSettings };

/** What a configuration file may hold, with every secret itself. */
export type GivenSettings = Partial<GivenOptions<Omit<typeof allSettings, 'config'>>>;

type ProgramSettings = typeof programSettings;
type Parsed = ParsedOf<typeof allSettings>;

/** All settings, validated. The program's own are `null` if not set. */
export type Settings = {
  readonly [K in keyof Parsed]:
    | Exclude<Parsed[K], undefined>
    | (undefined extends Parsed[K] ? (K extends keyof ProgramSettings ? null : undefined) : never);
};

export type SettingName = keyof Settings;

/** Every setting, in the order of the help texts and the documentation. */
export const settingDefinitions = Object.fromEntries(
  optionSections.flatMap((section) =>
    Object.entries<OptionDefinition>(allSettings).filter(([, one]) => one.section === section),
  ),
) as unknown as Readonly<Record<SettingName, OptionDefinition>>;

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
  return z.strictObject({ $schema: z.string().optional(), ...Object.fromEntries(shape) });
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

/** Names a setting, or a path within it, as the operator set it: the flag, the variable, or the key and the file. */
export type NameOf = (name: SettingName, path?: readonly string[]) => string;

export function hasFlag(name: SettingName): boolean {
  return settingDefinitions[name].placeholder !== undefined;
}

export function isInFile(name: SettingName): boolean {
  return name !== 'config';
}

/** Whether a setting is passed to the authorization server unchanged. */
export function isServerOption(name: SettingName): boolean {
  return name !== 'workspaces' && Object.hasOwn(optionDefinitions, name);
}

/** The settings that are passed to the authorization server unchanged. */
export function serverOptionsOf(settings: Settings): Omit<Settings, keyof ProgramSettings> {
  const entries = Object.entries(settings).filter(
    ([name, value]) => isServerOption(name as SettingName) && value !== undefined,
  );
  return Object.fromEntries(entries) as unknown as Omit<Settings, keyof ProgramSettings>;
}

/** The issuer of a server that listens on this port: the public URL, or localhost. */
export function issuerAt(port: number, { publicUrl, tlsCert }: Settings): string {
  return publicUrl ?? `${tlsCert === null ? 'http' : 'https'}://localhost:${port}`;
}

/** The variable that names a file with a secret, as container platforms mount them; `null` if none exists or it is a separate setting. */
export function fileVariableOf(name: SettingName): string | null {
  const isSecret = settingDefinitions[name].isSecret === true;
  return isSecret && !Object.hasOwn(settingDefinitions, `${name}File`) ? `${variableOf(name)}_FILE` : null;
}

/** The default, for help texts. */
export function defaultOf(name: SettingName): string {
  const { schema, default: value, defaultText } = settingDefinitions[name];
  return defaultText ?? (isPlain(value) ? formatDefault(value, kindOf(schema())) : 'none');
}
