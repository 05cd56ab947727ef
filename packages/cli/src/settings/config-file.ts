/** The configuration file: JSON, or a module that exports `config`. */
import { readFile, stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { isSea } from 'node:sea';
import { pathToFileURL } from 'node:url';
import type {
  EventExport,
  GivenAdminOptions,
  GivenMailOptions,
  GivenSharedSignalsOptions,
  Webhook,
} from '@portcullis/admin/options';
import type {
  AuthorizationServerOptions,
  ClientKeyOptions,
  FindWorkspaces,
  IdentityProviderOptions,
  PresetReference,
} from '@portcullis/authorization-server';
import type { GatewayServerOptions } from '@portcullis/gateway/options';
import { readStrictJson } from '@portcullis/protocol';
import { reasonOf, SettingsError } from '../errors.ts';
import type { Otlp } from './otlp.ts';
import type { Settings } from './schema.ts';

/** A secret, or the file or environment variable that contains it. */
type SecretReference = string | { readonly file: string } | { readonly variable: string };

type SecretHeaders = Readonly<Record<string, SecretReference>>;

type WithSecrets<T, K extends PropertyKey> = T extends unknown
  ? { readonly [N in keyof T]: N extends K ? Referenced<T[N]> : T[N] }
  : never;
type Referenced<T> = T extends string
  ? SecretReference
  : T extends readonly string[]
    ? readonly SecretReference[]
    : T;
type WrittenProvider = WithSecrets<
  Omit<IdentityProviderOptions, 'clientKey'> | Omit<PresetReference, 'clientKey'>,
  'clientSecret'
> & {
  readonly clientKey?: WithSecrets<ClientKeyOptions, 'key' | 'certificate'>;
};
type WrittenCredentials = NonNullable<NonNullable<GatewayServerOptions['backend']>['credentials']>;
type WrittenServer = Omit<GatewayServerOptions, 'backend'> & {
  readonly backend?: Omit<NonNullable<GatewayServerOptions['backend']>, 'credentials' | 'environment'> & {
    readonly credentials?: WithSecrets<
      Omit<WrittenCredentials, 'clientKey' | 'identityProvider'>,
      'value' | 'clientSecret'
    > & {
      readonly clientKey?: WithSecrets<NonNullable<WrittenCredentials['clientKey']>, 'privateKey'>;
      readonly identityProvider?: WithSecrets<
        NonNullable<WrittenCredentials['identityProvider']>,
        'clientSecret'
      >;
    };
    readonly environment?: Readonly<Record<string, SecretReference>>;
  };
};
type PolicyOptions = NonNullable<Settings['policy']>;
type DecisionPointOptions = NonNullable<PolicyOptions['authzen']>;
type WrittenPolicy = {
  readonly authzen?: Pick<DecisionPointOptions, 'url'> &
    Partial<Omit<DecisionPointOptions, 'credentials'>> & {
      readonly credentials?: WithSecrets<
        NonNullable<DecisionPointOptions['credentials']>,
        'value' | 'clientSecret'
      >;
    };
};
type Options = Omit<
  AuthorizationServerOptions,
  'issuer' | 'store' | 'masterKey' | 'previousMasterKeys' | 'events' | 'clock' | 'resources' | 'workspaces'
>;

/** The contents of a configuration file. */
export type FileConfiguration = Omit<Options, 'identityProviders' | 'registration' | 'brand' | 'profiles'> & {
  readonly $schema?: string;
  readonly resources?: AuthorizationServerOptions['resources'];
  readonly servers?: readonly WrittenServer[];
  readonly policy?: WrittenPolicy;
  readonly admin?: GivenAdminOptions;
  /** A module that exports `findWorkspaces`, or the function itself. */
  readonly workspaces?: string | FindWorkspaces;
  readonly identityProviders?: readonly WrittenProvider[];
  readonly registration?: WithSecrets<NonNullable<Options['registration']>, 'initialAccessTokens'>;
  /** The logo is a file, or its bytes. */
  readonly brand?: Omit<NonNullable<Options['brand']>, 'logo'> & { readonly logo?: string | Uint8Array };
  /** By date, or the profiles themselves. */
  readonly profiles?: readonly (NonNullable<Options['profiles']>[number] | string)[];
  readonly key?: SecretReference;
  readonly previousKey?: SecretReference;
  readonly bootstrapPassword?: SecretReference;
  readonly metricsToken?: SecretReference;
  readonly mail?: WithSecrets<GivenMailOptions, 'password'>;
  readonly sharedSignals?: GivenSharedSignalsOptions;
  readonly webhooks?: readonly WithSecrets<Webhook, 'secret'>[];
  readonly eventExports?: readonly (Omit<EventExport, 'headers' | 'format'> &
    Partial<Pick<EventExport, 'format'>> & { readonly headers?: SecretHeaders })[];
  readonly otlp?:
    | string
    | (Partial<Omit<Otlp, 'headers'>> &
        Pick<Otlp, 'url'> & { readonly headers?: SecretHeaders });
} & {
  readonly [K in
    | 'app' | 'port' | 'host' | 'publicUrl' | 'tlsCert' | 'tlsKey' | 'trustedProxies' | 'strippedPrefix' | 'database' | 'keyFile'
    | 'previousKeyFile' | 'bootstrapEmail' | 'log' | 'processes' | 'databaseTimeout' | 'databasePoolSize' | 'drain' | 'freshness' | 'shutdownTimeout']?: NonNullable<Settings[K]>;
}; // biome-ignore format: a list of names

/** A configuration file as read, empty if there is none. */
export interface ConfigFile {
  /** As the operator named it. */
  readonly name: string;
  readonly content: Readonly<Record<string, unknown>>;
}

const MODULES = ['.ts', '.mts', '.js', '.mjs'];

/**
 * Reads the object in a configuration file; its members are validated elsewhere.
 * @param folder base of a relative path
 * @param title of the setting that names the file
 * @throws SettingsError
 */
export async function readConfigFile(name: string, folder: string, title: string): Promise<ConfigFile> {
  const path = resolve(folder, name);
  try {
    const content = MODULES.includes(extname(path)) ? await loadConfig(path) : await readJson(path);
    if (typeof content !== 'object' || content === null || Array.isArray(content)) {
      throw new SettingsError(['must hold an object']);
    }
    return { name, content: content as Readonly<Record<string, unknown>> };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new SettingsError([`${title} is ${name}, which ${error.message}`], { cause: error });
  }
}

async function readJson(path: string): Promise<unknown> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new SettingsError([`cannot be read: ${reasonOf(cause)}`]);
  });
  // Without the byte order mark that some editors write.
  const text = new TextDecoder().decode(bytes);
  checkRepeatedNames(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message may quote a secret: only the position is shown, if known.
    const [position = ''] = /\(line \d+ column \d+\)/.exec(String(error)) ?? [];
    throw new SettingsError([`is not well-formed JSON ${position}`.trim()]);
  }
}

/** Rejects duplicate settings: `JSON.parse` would silently use the last. */
function checkRepeatedNames(text: string): void {
  try {
    readStrictJson(text, { depth: 1000, members: 1_000_000, values: 1_000_000 });
  } catch (error) {
    if (error instanceof SyntaxError && error.message.includes('repeats'))
      throw new SettingsError(['has one name twice in an object: only the last would count']);
  }
}

/** Modules are cached by URL: a changed module needs a new URL. */
async function currentUrl(path: string): Promise<string> {
  const url = pathToFileURL(path);
  const changedAt = await stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
  if (loadedAt.has(path) && loadedAt.get(path) !== changedAt)
    url.searchParams.set('changed', String(changedAt));
  else loadedAt.set(path, changedAt);
  return url.href;
}

/** Modification times of the modules at their first load. */
const loadedAt = new Map<string, number>();

async function loadConfig(path: string): Promise<unknown> {
  if (isSea()) throw new SettingsError(['the single executable loads JSON files only']);
  const module: Readonly<Record<string, unknown>> = await import(await currentUrl(path)).catch((cause) => {
    throw new SettingsError([`cannot be loaded: ${reasonOf(cause)}`]);
  });
  if (module['config'] === undefined) throw new SettingsError(['must export config']);
  return module['config'];
}
