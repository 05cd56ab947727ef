/** What is said of a guard by whoever makes one. */
import type { Profile, ScopeHierarchy, Scopes } from '@portcullis/protocol/protected-resource';
import type { DpopOptions } from './dpop/dpop-options.ts';
import type { GuardEventSink } from './events.ts';
import type { CertificateOptions } from './guard/client-certificate.ts';
import type { Operation } from './guard/operations.ts';
import type { AllowedOrigins } from './origin-policy.ts';
import type { TokenVerifier } from './verifiers/token-verifier.ts';

/** A server to protect. */
export interface ResourceOptions {
  /** Its public URL: the identifier that clients name and tokens carry as their audience. */
  readonly resource: string;
  /** What people call it; the host when left out. */
  readonly name?: string;
  /** A page for developers. */
  readonly documentation?: string;
  /** Issuers that clients may turn to; those that the verifier trusts when left out. */
  readonly authorizationServers?: readonly string[];
  /** Scopes that every request needs. */
  readonly scopes?: Scopes;
  /** Scopes that a client should ask for first, named in challenges and metadata; `scopes` when left out. */
  readonly defaultScopes?: Scopes;
  readonly hierarchy?: ScopeHierarchy;
  /** Further scopes that an operation needs. When given, the body of a request is read, and still there for the application. */
  readonly scopesFor?: (operation: Operation) => Scopes;
  /** Judges the tokens of this resource, in place of the guard's verifier. */
  readonly verifier?: TokenVerifier;
}

/** How long an event stream may last. */
export interface StreamOptions {
  /**
   * Seconds beyond the end of its token after which a stream ends that answers another method than GET: it may still
   * carry what an admitted request asked for; 300 when left out. A stream that was opened by GET ends with its token.
   */
  readonly grace?: number;
  /** Seconds between two judgements of the token behind an open stream; 10 when left out. */
  readonly every?: number;
}

/** What holds for the whole guard. */
export interface SharedGuardOptions {
  /** Judges tokens; of every resource that has no verifier of its own. */
  readonly verifier?: TokenVerifier;
  /** The revisions served; all when left out. */
  readonly profiles?: readonly Profile[];
  /** Web origins whose pages may call: see the README for what holds when it is left out. */
  readonly origins?: AllowedOrigins;
  /** Further host names under which a server on this computer may be addressed. */
  readonly hosts?: readonly string[];
  /** Seconds by which the clocks of issuer and guard may differ; 5 when left out. */
  readonly clockTolerance?: number;
  /** Verified tokens that are remembered, at least; 10,000 when left out, 0 for none. */
  readonly tokenCacheSize?: number;
  /** Takes tokens that are bound to a key of the client (DPoP); plain ones alone when left out. */
  readonly dpop?: DpopOptions;
  /** Takes tokens that are bound to a certificate of the client (mutual TLS); refused when left out. */
  readonly certificates?: CertificateOptions;
  /** The longest body in bytes that is read for its operations; 4 MiB when left out. */
  readonly bodyLimit?: number;
  /** How long event streams may last beyond their token; `false`: as long as they like. */
  readonly streams?: StreamOptions | false;
  readonly events?: GuardEventSink;
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** One resource, or several that share a server. */
export type GuardOptions = SharedGuardOptions &
  (ResourceOptions | { readonly resources: readonly ResourceOptions[] });
