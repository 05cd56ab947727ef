/** What is said of a client by whoever makes one, and what counts where nothing is said. */
import type { ProtocolVersionHeader, Scopes } from '@portcullis/protocol';
import type { GrantSettings } from './authorization/grant-settings.ts';
import type { Browser, Receiver } from './authorization/receiver.ts';
import type { ScopeSettings } from './authorization/scope-plan.ts';
import type { ClientError } from './errors.ts';
import type { ClientEvent } from './events.ts';
import type { RegistrationSettings } from './registration/registration.ts';
import type { CredentialStore } from './storage/credential-store.ts';
import type { Fetch } from './transport.ts';

/** What `createClient` takes. Only the server's URL is needed. */
export interface ClientOptions {
  /** The protected server. A fragment is cut off. */
  readonly serverUrl: string;
  /** On whose behalf: a person (the default), the application itself, a workload, or an enterprise's person. */
  readonly grant?: GrantSettings;
  readonly registration?: RegistrationSettings;
  /** Where the person signs in. */
  readonly browser?: Browser;
  /** Where the answer arrives. */
  readonly receiver?: Receiver;
  /** Where credentials are kept; memory by default. */
  readonly store?: CredentialStore;
  /** The person's name for these credentials, where there are several; `default` by default. */
  readonly account?: string;
  /** Carries every request; the platform's `fetch` by default. */
  readonly fetch?: Fetch;
  /** Carries the requests to OAuth parties, where they go another way than those to the server. */
  readonly oauthFetch?: Fetch;
  /** Understands what a transport of one's own throws when that origin is asked; `null`: the usual way. */
  readonly mapFetchError?: (error: unknown, origin: string) => ClientError | null;
  /** Pins the revision, as a date; by default it is found out. */
  readonly revision?: string;
  readonly versionHeader?: ProtocolVersionHeader;
  readonly scopes?: ScopeSettings;
  /** Origins, besides an issuer's own, whose endpoints and documents may be used. */
  readonly trustedOrigins?: readonly string[];
  /** Issuer as the server names it → as its own document does, where both are known to be one. */
  readonly issuerAliases?: Readonly<Record<string, string>>;
  /**
   * Issuer → resource indicator that it wants instead of the published one; `null`: none. For authorization servers that
   * refuse the indicator they should take, as some versions of Entra ID do (AADSTS9010010).
   */
  readonly resourceIndicators?: Readonly<Record<string, string | null>>;
  /** Orders the authorization servers of a server that has several. */
  readonly orderAuthorizationServers?: (
    issuers: readonly string[],
  ) => readonly string[] | Promise<readonly string[]>;
  /** Asks the person before more is asked for; `false` declines. */
  readonly confirmStepUp?: (added: Scopes) => Promise<boolean>;
  /** Asks for scopes once more that were asked for before and not granted; once each. `false` by default. */
  readonly retryStepUp?: boolean;
  /** Tokens bound to a key: where the server asks for them (the default), wherever they are offered, or never. */
  readonly dpop?: 'when-required' | 'when-offered' | 'never';
  readonly onEvent?: (event: ClientEvent) => void;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
  /** Cryptographically random bytes. */
  readonly random?: (bytes: number) => Uint8Array;
  /** Waits; milliseconds. */
  readonly sleep?: (milliseconds: number) => Promise<void>;
  readonly limits?: Partial<ClientLimits>;
}

/** How long and how often. */
export interface ClientLimits {
  /** Milliseconds for one exchange with an OAuth party. */
  readonly timeout: number;
  /** Most bytes of an answer of an OAuth party. */
  readonly maxBytes: number;
  /** Milliseconds before each further try of a refresh that failed for a while. */
  readonly retryDelays: readonly number[];
  /** Milliseconds during which a sign-in that failed is not tried again by itself. */
  readonly cooldown: number;
  /** Most step-ups for one operation. */
  readonly stepUps: number;
}

/** What counts when the host says nothing. */
export const defaultClientLimits: ClientLimits = {
  timeout: 15_000,
  maxBytes: 262_144,
  retryDelays: [300, 1500],
  cooldown: 30_000,
  stepUps: 2,
};
