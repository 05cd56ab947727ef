/** A request as the guard sees it: facts, in no framework's words. */
import type { Scopes } from '@portcullis/protocol/protected-resource';
import type { ReadBody } from './guard/required-scopes.ts';
import type { Principal } from './principal.ts';

/** What a guard needs to know of a request. Adapters fill it from their framework's own. */
export interface RequestInfo {
  readonly method: string;
  /** The request target: a path with its query, or an absolute URL, whose origin is not believed. */
  readonly url: string;
  /** The `Authorization` field; every one of them when there are several. */
  readonly authorization: string | readonly string[] | null | undefined;
  readonly origin?: string | null | undefined;
  readonly host?: string | null | undefined;
  /** `Access-Control-Request-Method`: with an origin and OPTIONS it makes a preflight. */
  readonly requestedMethod?: string | null | undefined;
  /** The `DPoP` field; several joined by commas. */
  readonly dpop?: string | null | undefined;
  /** The socket that the request came by, for the certificate of its client. */
  readonly socket?: unknown;
  /** The `Client-Cert` field. */
  readonly clientCertificate?: string | null | undefined;
  /** Called at most once, only when operations have to be known, and only after the token was found good. */
  readonly body?: ReadBody | undefined;
  /** Scopes that this route needs beyond those of the resource. */
  readonly scopes?: Scopes | undefined;
  /** Whom this guard has admitted the same request for, before a route asked for more: its token is gone by then. */
  readonly principal?: Principal | undefined;
}
