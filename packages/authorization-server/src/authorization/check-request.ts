/** Checks an authorization request whose client and redirect URI are proven: grant type, PKCE, response type and prompt. */
import {
  type AuthorizationRequest,
  acrOf,
  checkAuthorizationRequest,
  OAuthError,
  ONE_FACTOR,
  type Parameters,
  satisfiesAcr,
  TWO_FACTORS,
  type UserAuthentication,
} from '@portcullis/protocol';
import type { ResolvedClient } from '../clients/client.ts';
import type { AuthorizationTransactionRecord } from '../store/index.ts';
import type { User } from '../users/sessions.ts';
import { isAhead } from '../wrong-clock.ts';
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

/** @param isSigned whether the request was a request object, now or when it was pushed @see RFC 9101 §10.5 */
export function checkSigned({ metadata }: ResolvedClient, isSigned: boolean): void {
  if (metadata.require_signed_request_object !== true || isSigned) return;
  throw new OAuthError(
    'invalid_request',
    'This client registered require_signed_request_object: send request.',
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
    ? new OAuthError('login_required', 'The user has to sign in: send the request without prompt=none.')
    : new OAuthError('consent_required', 'The user has to consent: send the request without prompt=none.');
}

/**
 * Whether the user has to sign in, even with a session: the client requires it, or the last sign-in was too long ago or of another
 * authentication context class.
 * @see OpenID Connect Core 1.0 §3.1.2.1, RFC 9470 §5
 */
export function requiresFreshLogin(
  { prompt, maxAge, acrValues }: AuthorizationRequest,
  user: User | null,
  now: number,
): boolean {
  if (prompt.has('login') || prompt.has('select_account')) return true;
  // A session at an identity provider may be older than the client allows.
  if (user === null) return maxAge !== null;
  const { authenticatedAt: time } = user;
  const isTooOld = maxAge !== null && (now - time >= maxAge || isAhead(time, now));
  return isTooOld || !isSufficient(acrValues, authenticationOf(user));
}

/** How the user of a session signed in; `null` for no user, or if it is not known. */
export function authenticationOf(user: User | null): UserAuthentication | null {
  return user === null ? null : { time: user.authenticatedAt, methods: user.methods ?? [] };
}

function isSufficient(acrValues: readonly string[], authentication: UserAuthentication | null): boolean {
  if (acrValues.length === 0) return true;
  return authentication !== null && satisfiesAcr(acrOf(authentication), acrValues);
}

/**
 * Why the code cannot be issued to a user who signed in like this; `null` if it can.
 * @see RFC 9470 §5
 */
export function unmetAuthentication(
  { issuer }: { readonly issuer: string },
  { acrValues = [] }: Pick<AuthorizationTransactionRecord, 'acrValues'>,
  authentication: UserAuthentication | null,
): OAuthError | null {
  if (isSufficient(acrValues, authentication)) return null;
  const isFederated = authentication?.methods.includes('fed') === true;
  const way = isFederated
    ? ' at the identity provider'
    : `: with an authenticator app or a passkey, which you can add at ${new URL(issuer).origin}/account`;
  return new OAuthError(
    'unmet_authentication_requirements',
    acrValues.includes(TWO_FACTORS)
      ? `This needs a sign-in with two factors${way}. Then try again.`
      : `No sign-in here is of a class that acr_values names: there are ${ONE_FACTOR} and ${TWO_FACTORS}.`,
  );
}

/** Whether a second factor, which the user can add here, would meet the request. */
export function isSecondFactorMissing(
  { acrValues = [] }: Pick<AuthorizationTransactionRecord, 'acrValues'>,
  authentication: UserAuthentication | null,
): boolean {
  return acrValues.includes(TWO_FACTORS) && authentication?.methods.includes('fed') !== true;
}
