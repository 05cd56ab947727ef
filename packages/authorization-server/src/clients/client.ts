/** Types of clients: resolved from any source, and pre-registered in the configuration. */
import type { ClientAuthenticationMethod, ClientMetadata } from '@portcullis/protocol';
import type { PreviousSecret } from '../store/index.ts';

export interface ResolvedClient {
  readonly id: string;
  /** The source of its metadata: configuration, dynamic registration, an administrator, or its metadata document. */
  readonly origin: 'configured' | 'registered' | 'administered' | 'metadata-document';
  readonly metadata: ClientMetadata;
  /** Base64url SHA-256 of the secret; `null` for clients without one. */
  readonly secretHash: string | null;
  /** The secret before a rotation; `null`: none. */
  readonly previousSecret: PreviousSecret | null;
  /** Base64url SHA-256 of its validated metadata document; `null` without one. Remembered consent is bound to it. */
  readonly digest: string | null;
  /** Epoch seconds at which it registered itself; `null`: it is from the configuration or a metadata document. */
  readonly registeredAt: number | null;
  /** Epoch seconds of its last recorded token. */
  readonly lastUsedAt: number | null;
  /** Whether an administrator verified a client that registered itself or has a metadata document. */
  readonly isVerified: boolean;
}

/** What a client has that is not in the store, unless its source says otherwise. */
export const UNREGISTERED = {
  secretHash: null,
  previousSecret: null,
  digest: null,
  registeredAt: null,
  lastUsedAt: null,
  isVerified: false,
} as const;

/** The `client_id` of personal access tokens, which no client has. */
export const PERSONAL_ACCESS_TOKEN_CLIENT = 'personal-access-token';

/**
 * Identifiers of unknown clients that an event may contain: those that this server issues, and URLs of metadata documents. Anything
 * else that is sent as `client_id` may be a secret.
 */
export const UNKNOWN_CLIENT_ID: RegExp = /^client_[\w-]{20,40}$|^https:\/\/[\w.:-]+\/[^?#@]*$/;

/** Whether the operator or an administrator is responsible for the client's metadata. */
export function isTrustedClient({ origin }: Pick<ResolvedClient, 'origin'>): boolean {
  return origin === 'configured' || origin === 'administered';
}

/** Whether the operator or an administrator knows who the client is. */
export function isVerifiedClient(client: Pick<ResolvedClient, 'origin' | 'isVerified'>): boolean {
  return isTrustedClient(client) || client.isVerified;
}

/** The authentication methods of a client: the registered one, or those that its metadata document lists. */
export function authenticationMethodsOf(metadata: ClientMetadata): readonly ClientAuthenticationMethod[] {
  return metadata.token_endpoint_auth_methods_supported ?? [metadata.token_endpoint_auth_method];
}

/** A client of the configuration, validated. */
export interface ConfiguredClient {
  readonly id: string;
  readonly metadata: ClientMetadata;
  readonly secretHash: string | null;
  /** Accepted until the configuration no longer names it. */
  readonly previousSecret: PreviousSecret | null;
  /** Whether one of its secrets has less than 128 bits and needs a rate limit against brute force. */
  readonly hasGuessableSecret: boolean;
}
