/** Checks an authorization request whose client and redirect URI are proven: grant type, PKCE, response type and prompt. */
import {
  type AuthorizationRequest,
  checkAuthorizationRequest,
  OAuthError,
  type Parameters,
} from '@portcullis/protocol';
import type { ResolvedClient } from '../clients/client.ts';
import type { User } from '../users/sessions.ts';
import type { ConsentDecision } from './next-step.ts';

/** @throws OAuthError that is sent to the client by redirect */
export function checkRequest(client: ResolvedClient, parameters: Parameters): AuthorizationRequest {
  if (!client.metadata.grant_types.includes('authorization_code')) {
    throw new OAuthError(
      'unauthorized_client',
      'This client is not registered for the grant authorization_code.',
    );
  }
  return checkAuthorizationRequest(parameters);
}

/**
 * A client can register that its requests are pushed, so that no other is a request of it.
 * @throws OAuthError that is sent to the client by redirect
 * @see RFC 9126 §6
 */
export function checkPushed({ metadata }: ResolvedClient, pushed: object | null): void {
  if (metadata.require_pushed_authorization_requests !== true || pushed !== null) return;
  throw new OAuthError(
    'invalid_request',
    'This client registered require_pushed_authorization_requests: push the request first.',
  );
}

/**
 * With `prompt=none` no page may be shown, so only a remembered consent can be the response.
 * @throws OAuthError `login_required` or `consent_required`
 * @see OpenID Connect Core 1.0 §3.1.2.1
 */
export function checkPromptNone(
  prompt: AuthorizationRequest['prompt'],
  user: User | null,
  decision: ConsentDecision | null,
): void {
  if (!prompt.has('none') || decision !== null) return;
  throw user === null
    ? new OAuthError('login_required', 'No user is signed in: send the request without prompt=none.')
    : new OAuthError('consent_required', 'The user has to consent: send the request without prompt=none.');
}

/** Whether the client asked for a fresh login, even if a user is signed in. */
export function requiresFreshLogin(prompt: AuthorizationRequest['prompt']): boolean {
  return prompt.has('login') || prompt.has('select_account');
}
