/** The options of a guard. */
import type {
  AuthenticationRequirement,
  McpOperation,
  Profile,
  ScopeHierarchy,
  Scopes,
} from '@portcullis/protocol';
import type { DpopOptions } from './dpop/dpop-options.ts';
import type { GuardEventSink } from './events.ts';
import type { AllowedOrigins } from './origin-policy.ts';
import type { TokenVerifier } from './verifiers/token-verifier.ts';

/** A protected resource. */
export interface ResourceOptions {
  /** Its public URL: the identifier that clients use, and the audience of its tokens. @see RFC 8707 §2 */
  readonly resource: string;
  /** Its name for users; the host by default. */
  readonly name?: string;
  /** The URL of its documentation. */
  readonly documentation?: string;
  /** Issuers that clients may use; those of the verifier by default. */
  readonly authorizationServers?: readonly string[];
  /** Scopes that every request requires. */
  readonly scopes?: Scopes;
  /** Scopes that clients should request first, named in challenges and metadata; `scopes` by default. */
  readonly defaultScopes?: Scopes;
  readonly hierarchy?: ScopeHierarchy;
  /**
   * Additional scopes that an operation requires. If set, the guard reads the body of a request, which stays
   * available to the application. `public`: it needs no scope, and with `publicOperations` no token.
   */
  readonly scopesFor?: (operation: McpOperation) => Scopes | 'public';
  /**
   * Requests without a token are authorized as an anonymous principal if all their operations are public by `scopesFor`; also
   * `initialize`, `ping` and GET and DELETE requests, which belong to a session: an application that sends the same to every stream has
   * to refuse GET of this principal itself. Without `scopesFor`, all of them: the application
   * decides. A token that is sent has to be valid. `false` by default.
   */
  readonly publicOperations?: boolean;
  /**
   * How recently, and with which authentication context class (`2fa` of our authorization server), the user must have signed
   * in for an operation; `null`: no matter. The guard reads the body, as for `scopesFor`. @see RFC 9470
   */
  readonly authenticationFor?: (operation: McpOperation) => AuthenticationRequirement | null;
  /** Verifies the tokens of this resource, instead of the guard's verifier. */
  readonly verifier?: TokenVerifier;
}

/** How long an event stream may outlive its token. */
export interface StreamOptions {
  /**
   * Seconds after the token's expiry at which a stream ends that responds to a method other than GET, since it may
   * still deliver a result; 300 by default. A stream opened by GET, or by `subscriptions/listen`, ends with its token.
   */
  readonly grace?: number;
  /** Seconds between checks of the token of an open stream; 10 by default. */
  readonly every?: number;
  /**
   * Subscribes to the identifiers of grants that end, while streams are open: their streams are checked at once. Returns a function that
   * unsubscribes. Without it, a revoked token ends its streams at the next check.
   */
  readonly endedGrants?: (listener: (grantIds: readonly string[]) => void) => () => void;
}

/** Options of certificate-bound tokens (mutual TLS). @see RFC 8705 */
export interface CertificateOptions {
  /**
   * Where the client certificate comes from: this server terminates TLS (`tls`), or a proxy does, which forwards the
   * certificate in the `Client-Cert` header (`field`) and removes that header from client requests.
   */
  readonly from: 'tls' | 'field';
}

/** Options that apply to all resources of a guard. */
export interface SharedGuardOptions {
  /** Verifies tokens of every resource without a verifier of its own. */
  readonly verifier?: TokenVerifier;
  /** The protocol revisions served; all by default. */
  readonly profiles?: readonly Profile[];
  /** Web origins that may call (CORS): see the README for the default. */
  readonly origins?: AllowedOrigins;
  /** Additional host names of a server on this computer. */
  readonly hosts?: readonly string[];
  /** Seconds by which the clocks of issuer and guard may differ; 5 by default. */
  readonly clockTolerance?: number;
  /** Minimum number of verified tokens in the LRU cache; 10,000 by default, 0 disables it. */
  readonly tokenCacheSize?: number;
  /** Accepts DPoP-bound tokens; only bearer tokens by default. @see RFC 9449 */
  readonly dpop?: DpopOptions;
  /** Accepts certificate-bound tokens (mutual TLS); rejected by default. @see RFC 8705 */
  readonly certificates?: CertificateOptions;
  /** The maximum body size in bytes that is read for its operations; 1 MiB by default. */
  readonly bodyLimit?: number;
  /**
   * The bytes per second that are read for the operations of one user, with four times as many at once; 1 MiB by
   * default, `false` for no limit. Bodies up to 16 KiB are not counted.
   */
  readonly bodyBudget?: number | false;
  /** How long event streams may outlive their token; `false` for no limit. */
  readonly streams?: StreamOptions | false;
  readonly events?: GuardEventSink;
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** The options of a guard for one resource, or for several that share a server. */
export type GuardOptions = SharedGuardOptions &
  (ResourceOptions | { readonly resources: readonly ResourceOptions[] });
