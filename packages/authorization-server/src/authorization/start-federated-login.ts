/** Leaving for a third party from a page of ours; one that cannot sign anybody in now is named, and nothing is lost by it. */
import { type HttpResponse, withCookies } from '@portcullis/http';
import type { IdentityProvider } from '../federation/identity-provider.ts';
import type { FederatedLoginRequest } from '../federation/login-request.ts';
import {
  DEFAULT_RETRY_AFTER,
  type IdentityProviderError,
  isUnavailable,
} from '../federation/provider-error.ts';
import type { PageContext } from '../page-context.ts';
import { describeWait } from '../ui/times.ts';

/** Where somebody leaves, or comes back. */
interface Threshold {
  readonly endpoint: string;
  /** Where they begin again. */
  readonly again: string;
  /** Cookies that are set whatever becomes of it. */
  readonly cookies?: readonly string[];
}

/** Sends the browser to a third party, or says why it cannot be sent there now. */
export async function startFederatedLogin(
  context: PageContext,
  identityProvider: IdentityProvider,
  loginTarget: FederatedLoginRequest,
  { cookies = [], ...threshold }: Threshold,
): Promise<HttpResponse> {
  const left = await context.federation.logins.start(identityProvider, loginTarget, cookies);
  if (!('issue' in left)) return left;
  return withCookies(await respondProviderError(context, identityProvider, left.issue, threshold), cookies);
}

/**
 * A page for whoever would sign in at a third party that cannot now. One that is away is an outage of ours too: 503, and when to
 * come again; an answer of it that is none is 502, and waiting may not help.
 * @see RFC 9110 §15.6.3, §15.6.4
 */
export function respondProviderError(
  { errors, layout }: Pick<PageContext, 'errors' | 'layout'>,
  { id, name: provider }: IdentityProvider,
  issue: IdentityProviderError,
  { endpoint, again }: Threshold,
): Promise<HttpResponse> {
  const reason = `${id}: ${issue.message}`;
  const action = { label: layout.text('message.try-again'), href: again };
  if (!isUnavailable(issue)) {
    return errors.refuse(endpoint, 'provider-error', { values: { provider }, action, reason });
  }
  const retryAfter = issue.retryAfter ?? DEFAULT_RETRY_AFTER;
  const values = { provider, time: describeWait(retryAfter, layout.language) };
  return errors.refuse(endpoint, 'provider-unavailable', { values, action, reason, retryAfter });
}
