/** What an operator can decide: the words of settings. The table of them all stands beside this file. */
import type {
  BrandOptions,
  ClientKeyOptions,
  DocumentOptions,
  FindWorkspaces,
  HeadlessOptions,
  IdentityProviderOptions,
  KeyOptions,
  Lifetimes,
  RateLimitOptions,
  RegistrationOptions,
} from '@portcullis/authorization-server';
import type { Profile } from '@portcullis/protocol';
import type { OutboundSetting } from './structures/clients.ts';
import type { ResourceSetting } from './structures/resources.ts';
import type { IdentityProviderSetting } from './structures/third-parties.ts';

/** What an operator has decided. `null`: nothing, and the program does what the documentation says. */
export interface Settings {
  readonly config: string | null;
  readonly app: string | null;
  readonly resources: readonly ResourceSetting[];
  readonly workspaces: string | FindWorkspaces | null;
  readonly port: number;
  readonly host: string;
  readonly publicUrl: string | null;
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly trustedProxies: readonly string[];
  readonly database: string;
  readonly key: Uint8Array | null;
  readonly keyFile: string | null;
  readonly previousKey: Uint8Array | null;
  readonly previousKeyFile: string | null;
  readonly bootstrapEmail: string | null;
  readonly bootstrapPassword: string | null;
  readonly localAccounts: boolean;
  readonly identityProviders: readonly IdentityProviderOptions[];
  readonly clients: readonly Readonly<Record<string, unknown>>[];
  readonly registration: boolean | RegistrationOptions;
  readonly metadataDocuments: boolean | DocumentOptions;
  readonly privateUseSchemes: readonly string[];
  readonly outbound: OutboundSetting;
  readonly lifetimes: Partial<Lifetimes>;
  readonly keys: KeyOptions;
  readonly statusLists: boolean;
  readonly rateLimits: RateLimitOptions | false;
  readonly name: string | null;
  readonly brand: BrandOptions;
  readonly externalUi: HeadlessOptions | null;
  readonly log: 'text' | 'json' | 'none';
  readonly metricsToken: string | null;
  readonly auditRetention: number;
  readonly metadata: boolean;
  readonly profiles: readonly Profile[] | null;
}

/** A secret that stands elsewhere. */
type SecretPlace = { readonly file: string } | { readonly variable: string };

/** What a file may say in another way than the program keeps it. */
interface WrittenOtherwise {
  readonly key?: string;
  readonly previousKey?: string;
  readonly bootstrapPassword?: string | SecretPlace;
  readonly metricsToken?: string | SecretPlace;
  /** By date, or the profile itself. */
  readonly profiles?: readonly (Profile | string)[];
  readonly registration?:
    | boolean
    | (Omit<RegistrationOptions, 'initialAccessTokens'> & {
        readonly initialAccessTokens?: readonly (string | SecretPlace)[];
      });
  readonly externalUi?: Omit<HeadlessOptions, 'secrets'> & {
    readonly secrets: readonly (string | SecretPlace)[];
  };
  /** Whole, or by the name of a preset. */
  readonly identityProviders?: readonly (IdentityProviderSetting extends infer One
    ? One extends IdentityProviderSetting
      ? Omit<One, 'clientSecret' | 'clientKey'> & {
          readonly clientSecret?: string | SecretPlace;
          readonly clientKey?: Omit<ClientKeyOptions, 'key' | 'certificate'> & {
            readonly key: string | SecretPlace;
            readonly certificate?: string | SecretPlace;
          };
        }
      : never
    : never)[];
  /** The logo as a file, or its bytes. */
  readonly brand?: Omit<BrandOptions, 'logo'> & { readonly logo?: string | Uint8Array };
}

/** What a configuration file may hold, any of it. */
export type FileConfiguration = {
  readonly [K in Exclude<keyof Settings, 'config' | keyof WrittenOtherwise>]?: NonNullable<Settings[K]>;
} & WrittenOtherwise;

export type SettingName = keyof Settings;

/** `publicUrl` → `PORTCULLIS_PUBLIC_URL` */
export function variableOf(name: SettingName): string {
  return `PORTCULLIS_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** `publicUrl` → `--public-url` */
export function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
