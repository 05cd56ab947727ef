/** What the client tells whoever wants to know: each decision, without a secret in it. */
import type { RegistrationWay, Scopes } from '@portcullis/protocol';

/** Something that the client has found out, decided or done. */
export type ClientEvent =
  | {
      readonly type: 'discovered';
      readonly server: string;
      readonly issuer: string;
      readonly revision: string;
      readonly resource: string | null;
      readonly endpoints: 'metadata' | 'default-paths';
    }
  | {
      readonly type: 'registered';
      readonly issuer: string;
      readonly way: RegistrationWay;
      readonly clientId: string;
    }
  | {
      readonly type: 'registration_dropped';
      readonly issuer: string;
      readonly clientId: string;
      readonly reason: string;
    }
  | {
      readonly type: 'sign_in';
      readonly issuer: string;
      readonly reason: SignInReason;
      readonly scopes: Scopes;
      readonly scopeReasons: readonly string[];
    }
  | { readonly type: 'step_up'; readonly added: Scopes }
  | {
      readonly type: 'tokens_obtained';
      readonly issuer: string;
      readonly scopes: Scopes;
      readonly scheme: 'Bearer' | 'DPoP';
    }
  /** Another sign-in for the same account is under way, and this one waits for it. */
  | { readonly type: 'sign_in_waits'; readonly server: string; readonly account: string }
  /** A new sign-in has replaced a session, which the authorization server did not take back. */
  | { readonly type: 'replaced_session_stands'; readonly issuer: string; readonly reason: string }
  | { readonly type: 'tokens_refreshed'; readonly issuer: string }
  | { readonly type: 'refresh_postponed'; readonly issuer: string; readonly reason: string }
  | { readonly type: 'session_ended'; readonly issuer: string; readonly reason: string };

/** Why tokens have to be got anew. */
export type SignInReason = 'no_tokens' | 'tokens_refused' | 'session_ended' | 'more_scopes' | 'asked_for';
