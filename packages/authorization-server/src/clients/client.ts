/** A client that this server knows, wherever it is written down. */
import type { ClientAuthenticationMethod, ClientMetadata } from '@portcullis/protocol';

export interface ResolvedClient {
  readonly id: string;
  /** Who says what this client is: the operator, itself, an administrator, or a document on a host whose name is its identifier. */
  readonly origin: 'configured' | 'registered' | 'administered' | 'metadata-document';
  readonly metadata: ClientMetadata;
  /** Base64url SHA-256 of the secret; `null` for clients without one. */
  readonly secretHash: string | null;
  /** Base64url SHA-256 of its metadata document as judged; `null` when it has none. What people allow is bound to it. */
  readonly digest: string | null;
  /** Epoch seconds: when it last got a token, as far as that was noted. */
  readonly lastUsedAt: number | null;
}

/** Whether somebody whom the operator trusts vouches for what the client says of itself. */
export function isTrustedClient({ origin }: Pick<ResolvedClient, 'origin'>): boolean {
  return origin === 'configured' || origin === 'administered';
}

/** The methods by which a client may authenticate: the one that it registered, or those that its document lists. */
export function authenticationMethodsOf(metadata: ClientMetadata): readonly ClientAuthenticationMethod[] {
  return metadata.token_endpoint_auth_methods_supported ?? [metadata.token_endpoint_auth_method];
}

/** A client of the configuration, validated. */
export interface ConfiguredClient {
  readonly id: string;
  readonly metadata: ClientMetadata;
  readonly secretHash: string | null;
  /** Whether its secret is so short that it might be guessed, one try after the other. */
  readonly hasGuessableSecret: boolean;
}
