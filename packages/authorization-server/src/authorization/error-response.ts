/** Authorization error responses: by redirect, or on a page when the client is untrusted (open redirect). */
import type { HttpResponse } from '@portcullis/http';
import { errorResponseUrl, OAuthError, type RedirectTarget } from '@portcullis/protocol';
import { html } from 'hono/html';
import { isVerifiedClient, type ResolvedClient } from '../clients/client.ts';
import { clientDisplayName } from '../display-name.ts';
import { accountPaths } from '../ui/account-tabs.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { User } from '../users/sessions.ts';
import type { PageContext } from './page-context.ts';

/** A request whose client is known and whose redirect URI is registered for it. */
export interface ClientRequest {
  readonly client: ResolvedClient;
  readonly target: RedirectTarget;
  readonly state: string | undefined;
  /** Whether no page may be shown: `prompt=none`. */
  readonly isSilent: boolean;
}

/**
 * Rejects a request. The authorization server MUST NOT be an open redirector to URIs that an unknown party has just registered:
 * it redirects automatically only for pre-registered clients, and for signed-in users where no page may be shown. All others see
 * where the link leads. `Sec-Fetch-Site` is not consulted: a link in an email has no site.
 * @param needsFactor whether the user can act, by adding a second factor; otherwise the app's developer has to
 * @see OAuth 2.1 draft 13 §7.12.2, RFC 9700 §4.11.2, OpenID Connect Core 1.0 §3.1.2.6
 */
export async function rejectRequest(
  context: PageContext,
  { client, target, state, isSilent }: ClientRequest,
  user: User | null,
  cause: unknown,
  needsFactor = false,
): Promise<HttpResponse> {
  const { events, options, errors, layout } = context;
  const error = toOAuthError(cause);
  const reference = errors.newReference();
  events({
    type: 'request.rejected',
    endpoint: '/authorize',
    clientId: client.id,
    error: error.code,
    reason: error.reason ?? error.description,
    ...(error.rule !== undefined && { rule: error.rule }),
    reference,
  });
  const location = errorResponseUrl(target, error, { state, issuer: options.issuer });
  if (isVerifiedClient(client) || (isSilent && user !== null)) return respondRedirect(location);

  const name = clientDisplayName(client, layout);
  const account = html`<a href="${accountPaths.account}">${layout.text('tabs.account')}</a>`;
  const notice = messagePage(layout, {
    heading: layout.text('refused.heading'),
    actor: needsFactor ? 'you' : 'app',
    sentences: [
      needsFactor
        ? layout.say('refused.two-factors', { app: name, account })
        : layout.text('refused.what', { app: name }),
      layout.text('refused.unverified'),
    ],
    action: { label: layout.text('refused.return', { app: name }), href: location, target: target.display },
    ...(!needsFactor && { forDevelopers: error.description }),
    reference,
  });
  const retryAfter = error.retryAfter ?? (error.status === 503 ? 5 : null);
  const headers = retryAfter === null ? {} : { 'retry-after': String(retryAfter) };
  return respondPage(notice, { status: error.status, headers, script: true });
}

/** Turns any error into one that may be sent to a client; the cause of an unexpected one goes to the audit log only. */
export function toOAuthError(cause: unknown): OAuthError {
  if (cause instanceof OAuthError) return cause;
  return new OAuthError('server_error', 'The authorization server met an unexpected condition.', {
    reason: String(cause),
    cause,
  });
}
