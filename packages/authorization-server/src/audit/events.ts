/** What happens in an authorization server, as one typed list: the only place where private reasons go. */

import type { ProviderTokensEndReason } from '../store/index.ts';

/** What was read of this server from a network, shortly before an authorization request came from there. */
export interface MetadataDiscovery {
  readonly path: string;
  readonly version: string | null;
  /** Seconds before. */
  readonly before: number;
}

/** Members that every event may have. Never a token, code, secret or cookie. */
type About = {
  readonly clientId?: string;
  readonly accountId?: string;
  readonly grantId?: string;
  readonly resource?: string;
  readonly scopes?: readonly string[];
  /** The authorization request that it belongs to. */
  readonly transactionId?: string;
  /** The network that the request came from: an IPv4 address, or the first 64 bits of an IPv6 address. */
  readonly network?: string;
  /** The reference that the person saw on a page. */
  readonly reference?: string;
};

/** Something that happened. No event holds a secret, a code or a token. */
export type AuthorizationEvent = About &
  (
    | {
        readonly type: 'client.registered';
        /** By which it came, when it was by one. */
        readonly initialAccessTokenId?: string;
      }
    | { readonly type: 'client.added' | 'client.changed' | 'client.removed' }
    | { readonly type: 'client.disabled' | 'client.enabled' }
    | {
        readonly type: 'initial_access_token.created' | 'initial_access_token.revoked';
        readonly initialAccessTokenId: string;
      }
    | {
        readonly type: 'client_metadata_document.rejected';
        readonly reason: string;
        /** Whether the last good copy stood in for it. */
        readonly lastGoodCopy: boolean;
      }
    | {
        readonly type: 'account.created' | 'login.succeeded' | 'login.failed';
        /** By which the person came, when it was not by an account of this server's own. */
        readonly identityProvider?: string;
      }
    /** Somebody left for a third party, or gave back what came with signing in there. */
    | {
        readonly type: 'federated_login.started' | 'provider_token.discarded';
        readonly identityProvider: string;
      }
    /** A sign-in there did not succeed (`refused`), or it could not be asked (`failed`). */
    | {
        readonly type: 'federated_login.failed' | 'identity_provider.failed';
        readonly identityProvider: string;
        readonly reason: string;
      }
    | {
        readonly type: 'provider_token.stored' | 'provider_token.refreshed';
        readonly identityProvider: string;
      }
    /** What a grant rested on has ended, and the grant with it. */
    | {
        readonly type: 'provider_token.ended';
        readonly identityProvider: string;
        readonly reason: ProviderTokensEndReason;
      }
    /** What ended here has been revoked there, or why it was not. */
    | {
        readonly type: 'provider_token.revocation_finished';
        readonly identityProvider: string;
        readonly outcome: 'revoked' | 'impossible' | 'shared' | 'nothing' | 'given-up';
        readonly reason?: string;
      }
    | { readonly type: 'data_key.created'; readonly keyId: string }
    | {
        readonly type:
          | 'account.disabled'
          | 'account.enabled'
          | 'account.removed'
          | 'account.reset_link_created'
          | 'account.link_used';
      }
    | { readonly type: 'password.changed' }
    | {
        readonly type:
          | 'second_factor.enabled'
          | 'second_factor.disabled'
          | 'second_factor.recovery_codes_renewed';
      }
    | { readonly type: 'passkey.added' | 'passkey.removed' | 'passkey.clone_detected' }
    | { readonly type: 'grant.revoked' | 'session.ended'; readonly count: number }
    | { readonly type: 'metadata.read'; readonly path: string; readonly version: string | null }
    | {
        readonly type: 'authorization.started';
        /** What was read of this server's metadata from the same network shortly before: by this client, as far as anybody can tell. */
        readonly discovery?: MetadataDiscovery;
      }
    | { readonly type: 'consent.allowed' | 'consent.remembered' | 'consent.denied' }
    | { readonly type: 'authorization_code.issued' | 'authorization_code.replayed' }
    | { readonly type: 'token.issued'; readonly grantType: string }
    /** A protected server asked for the first time about a token of this grant, and it stood. */
    | { readonly type: 'token.first_used' }
    /** A protected server got the token of a third party; the scopes are the third party's. */
    | { readonly type: 'provider_token.released'; readonly identityProvider: string }
    | {
        readonly type:
          | 'refresh_token.rotated'
          | 'refresh_token.retried'
          | 'refresh_token.reuse_detected'
          | 'token.revoked';
      }
    | { readonly type: 'key.created' | 'key.rotated' | 'key.removed'; readonly keyId: string }
    | { readonly type: 'key.reencrypted' | 'audit.dropped'; readonly count: number }
    | { readonly type: 'key_ring.refresh_failed'; readonly reason: string }
    | {
        readonly type: 'request.rejected';
        readonly endpoint: string;
        readonly error: string;
        readonly reason: string;
      }
    | { readonly type: 'request.failed'; readonly endpoint: string; readonly reason: string }
  );

/** Takes events as they happen. It must not throw. */
export type EventSink = (event: AuthorizationEvent) => void;
