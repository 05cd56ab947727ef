/** What the client tells whoever wants to know: each decision, without a secret in it. */
import type { RegistrationMethod, Scopes } from '@portcullis/protocol';

/** Something that the client has found out, decided or done. */
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
      readonly reason: SignInReason;
      readonly scopes: Scopes;
      readonly scopeReasons: readonly string[];
    }
  | { readonly type: 'step_up.requested'; readonly added: Scopes }
  | {
      readonly type: 'tokens.obtained';
      readonly issuer: string;
      readonly scopes: Scopes;
      readonly scheme: 'Bearer' | 'DPoP';
    }
  /** Another sign-in for the same account is under way, and this one waits for it. */
  | { readonly type: 'sign_in.waiting'; readonly server: string; readonly account: string }
  /** A new sign-in has replaced a session, which the authorization server did not take back. */
  | { readonly type: 'session.revocation_failed'; readonly issuer: string; readonly reason: string }
  | { readonly type: 'tokens.refreshed'; readonly issuer: string }
  | { readonly type: 'tokens.refresh_deferred'; readonly issuer: string; readonly reason: string }
  | { readonly type: 'session.ended'; readonly issuer: string; readonly reason: string };

/** Why tokens have to be got anew. */
export type SignInReason =
  | 'no_tokens'
  | 'tokens_rejected'
  | 'session_ended'
  | 'insufficient_scope'
  | 'requested';
