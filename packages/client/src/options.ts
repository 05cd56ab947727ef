/** The options of a client, and the defaults of its limits. */
import type { ProtocolVersionHeader, Scopes } from '@portcullis/protocol';
import type { GrantSettings } from './authorization/grant-settings.ts';
import type { Browser, Receiver } from './authorization/receiver.ts';
import type { ScopeSettings } from './authorization/scope-plan.ts';
import type { ClientError } from './errors.ts';
import type { ClientEvent } from './events.ts';
import type { RegistrationSettings } from './registration/registration.ts';
import type { CredentialStore } from './storage/credential-store.ts';
import type { Fetch } from './transport.ts';

/** The options of `createClient`. Only the server's URL is required. */
export interface ClientOptions {
  /** The protected server. A fragment is removed. */
  readonly serverUrl: string;
  /** On whose behalf the client acts: a user (the default), the application itself, a workload, or an enterprise user. */
  readonly grant?: GrantSettings;
  readonly registration?: RegistrationSettings;
  /** Where the user signs in. */
  readonly browser?: Browser;
  /** Receives the redirect of the browser. */
  readonly receiver?: Receiver;
  /** Where credentials are stored; memory by default. */
  readonly store?: CredentialStore;
  /** Distinguishes several sign-ins of a user at one server; `default` by default. */
  readonly account?: string;
  /** Sends every request; the platform's `fetch` by default. */
  readonly fetch?: Fetch;
  /** Sends the requests to OAuth endpoints, where these need another transport than the protected server. */
  readonly oauthFetch?: Fetch;
  /** Turns an error of a custom `fetch` into a ClientError; `null`: `unreachable`. */
  readonly mapFetchError?: (error: unknown, origin: string) => ClientError | null;
  /** Pins the revision of MCP whose authorization rules apply, as a date; detected by default. */
  readonly revision?: string;
  readonly versionHeader?: ProtocolVersionHeader;
  readonly scopes?: ScopeSettings;
  /**
   * Where on the server's origin its token is sent: to the server and everything below the path of its resource (the
   * default), to the whole `origin`, or also to the URLs of the origin that the function accepts.
   */
  readonly sendTokenTo?: 'resource' | 'origin' | ((url: URL) => boolean);
  /** Origins besides an issuer's own whose endpoints and documents may be used. */
  readonly trustedOrigins?: readonly string[];
  /** Issuer as named by the server → issuer as named by its own metadata, where both are the same server. */
  readonly issuerAliases?: Readonly<Record<string, string>>;
  /**
   * Issuer → resource indicator to send instead of the published one; `null`: none. For authorization servers that reject
   * the correct indicator, as some versions of Entra ID do (AADSTS9010010).
   */
  readonly resourceIndicators?: Readonly<Record<string, string | null>>;
  /** Orders the authorization servers of a server that has several. */
  readonly orderAuthorizationServers?: (
    issuers: readonly string[],
  ) => readonly string[] | Promise<readonly string[]>;
  /** Asks the user before more scopes are requested; `false` declines. */
  readonly confirmStepUp?: (added: Scopes) => Promise<boolean>;
  /** Requests scopes again that were requested before and not granted, once each. `false` by default. */
  readonly retryStepUp?: boolean;
  /**
   * DPoP: wherever the metadata of the server and its authorization server offer it (the default), where the server asks for
   * it, or never.
   */
  readonly dpop?: 'when-required' | 'when-offered' | 'never';
  readonly onEvent?: (event: ClientEvent) => void;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
  /** Cryptographically secure random bytes. */
  readonly random?: (bytes: number) => Uint8Array;
  /** Waits; milliseconds. */
  readonly sleep?: (milliseconds: number) => Promise<void>;
  readonly limits?: Partial<ClientLimits>;
}

/** Time, size and retry limits. */
export interface ClientLimits {
  /** Milliseconds for one exchange with an OAuth endpoint. */
  readonly timeout: number;
  /** Largest response of an OAuth endpoint. */
  readonly maxBytes: number;
  /** Milliseconds before each retry of a refresh that failed temporarily. */
  readonly retryDelays: readonly number[];
  /** Milliseconds during which a failed sign-in is not started again automatically. */
  readonly cooldown: number;
  /** Largest number of step-ups for one request. */
  readonly stepUps: number;
}

/** Limits of a client without `limits`. */
export const defaultClientLimits: ClientLimits = {
  timeout: 15_000,
  maxBytes: 262_144,
  retryDelays: [300, 1500],
  cooldown: 30_000,
  stepUps: 2,
};
