/** The request type of the guard, independent of any framework. */
import type { Scopes } from '@portcullis/protocol';
import type { Principal } from './principal.ts';

/** Reads a body: text, bytes, or the parsed value. @throws OAuthError 413 beyond the limit in bytes */
export type ReadBody = (limit: number) => Promise<unknown>;

/** What the guard needs to know about a request. Adapters fill it in. */
export interface RequestInfo {
  readonly method: string;
  /** The request target: a path with its query, or an absolute URL, whose origin is ignored. */
  readonly url: string;
  /** The `Authorization` header; a list if it was repeated. */
  readonly authorization: string | readonly string[] | null | undefined;
  readonly origin?: string | null | undefined;
  readonly host?: string | null | undefined;
  /** `Access-Control-Request-Method`, which marks a preflight, together with OPTIONS and an origin. */
  readonly requestedMethod?: string | null | undefined;
  /** The `DPoP` header; repeated ones joined by commas. */
  readonly dpop?: string | null | undefined;
  /** The remote address of the client, with which it shares requests for introspection with others. */
  readonly address?: string | null | undefined;
  /** The socket, for the client certificate. */
  readonly socket?: unknown;
  /** The `Client-Cert` header. */
  readonly clientCertificate?: string | null | undefined;
  /**
   * Reads the body. Called at most once, only if operations matter: after the token was verified, or without a token if some
   * operations are public. With `scopesFor`, `authenticationFor` or `publicOperations`, a request that may have operations gets 500
   * without it.
   */
  readonly body?: ReadBody | undefined;
  /** Scopes that this route requires in addition to those of the resource. */
  readonly scopes?: Scopes | undefined;
  /** The principal of the same request from an earlier guard, which has removed the token. */
  readonly principal?: Principal | undefined;
}
