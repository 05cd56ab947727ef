/** Events of the client: each decision and its reason, without secrets. */
import type { RegistrationMethod, Scopes } from '@portcullis/protocol';

/** Something that the client discovered, decided or did. */
export type ClientEvent =
  | {
      readonly type: 'discovery.completed';
      readonly server: string;
      readonly issuer: string;
      readonly revision: string;
      readonly resource: string | null;
      readonly endpoints: 'metadata' | 'default-paths';
    }
  | {
      readonly type: 'client.registered';
      readonly issuer: string;
      readonly method: RegistrationMethod;
      readonly clientId: string;
    }
  | {
      readonly type: 'client.registration_discarded';
      readonly issuer: string;
      readonly clientId: string;
      readonly reason: string;
    }
  | {
      readonly type: 'sign_in.started';
      readonly issuer: string;
      /** Where the user signs in: the issuer, or the origin that a server without resource metadata names. */
      readonly location: string;
      readonly reason: SignInReason;
      readonly scopes: Scopes;
      readonly scopeReasons: readonly string[];
    }
  /** Waits for another sign-in for the same account that is in progress. */
  | { readonly type: 'sign_in.waiting'; readonly server: string; readonly account: string }
  | { readonly type: 'step_up.requested'; readonly added: Scopes }
  | {
      readonly type: 'tokens.obtained';
      readonly issuer: string;
      readonly scopes: Scopes;
      readonly scheme: 'Bearer' | 'DPoP';
    }
  | { readonly type: 'tokens.refreshed'; readonly issuer: string }
  /** A refresh failed temporarily; the session continues. */
  | { readonly type: 'tokens.refresh_deferred'; readonly issuer: string; readonly reason: string }
  | { readonly type: 'session.ended'; readonly issuer: string; readonly reason: string }
  /** A new sign-in replaced a session that could not be revoked at the authorization server. */
  | { readonly type: 'session.revocation_failed'; readonly issuer: string; readonly reason: string };

/** Why new tokens are requested. */
export type SignInReason =
  | 'no_tokens'
  | 'tokens_rejected'
  | 'session_ended'
  | 'insufficient_scope'
  /** The operation needs a more recent sign-in, or one of another class. */
  | 'insufficient_user_authentication'
  | 'requested';
