/** Starts a federated login: redirects to the identity provider, or shows that it is unavailable. */
import { type HttpResponse, withCookies } from '@portcullis/http';
import type { FederatedLoginRequest } from '../federation/login-request.ts';
import {
  DEFAULT_RETRY_AFTER,
  type IdentityProviderError,
  isUnavailable,
} from '../federation/provider/error.ts';
import type { IdentityProvider } from '../federation/provider/identity-provider.ts';
import { describeWait } from '../ui/times.ts';
import type { PageContext } from './page-context.ts';

/** The page that starts the login, or that the callback belongs to. */
interface LoginStart {
  readonly endpoint: string;
  /** Starts this step again. */
  readonly restartPath: string;
  /** `Set-Cookie` values that the response carries in any case. */
  readonly cookies?: readonly string[];
}

export async function startFederatedLogin(
  context: PageContext,
  identityProvider: IdentityProvider,
  loginRequest: FederatedLoginRequest,
  { cookies = [], ...start }: LoginStart,
): Promise<HttpResponse> {
  const started = await context.federation.logins.start(identityProvider, loginRequest, cookies);
  if (!('error' in started)) return started;
  return withCookies(await respondProviderError(context, identityProvider, started.error, start), cookies);
}

/**
 * Shows that an identity provider cannot be used now: 503 with `Retry-After` when it is unavailable, 502 when its response is
 * invalid and waiting may not help.
 * @see RFC 9110 §15.6.3, §15.6.4
 */
export function respondProviderError(
  { errors, layout }: Pick<PageContext, 'errors' | 'layout'>,
  { id, name: provider }: Pick<IdentityProvider, 'id' | 'name'>,
  issue: IdentityProviderError,
  { endpoint, restartPath }: LoginStart,
): Promise<HttpResponse> {
  const reason = `${id}: ${issue.message}`;
  const action = { label: layout.text('message.try-again'), href: restartPath };
  if (!isUnavailable(issue)) {
    return errors.show(endpoint, 'provider-error', { values: { provider }, action, reason });
  }
  const retryAfter = issue.retryAfter ?? DEFAULT_RETRY_AFTER;
  const values = { provider, time: describeWait(retryAfter, layout.language) };
  return errors.show(endpoint, 'provider-unavailable', { values, action, reason, retryAfter });
}
