/** Refusing an authorization request whose client and redirect URI are proven: by redirect, or first by a page. */
import type { HttpResponse } from '@portcullis/http';
import { errorResponseUrl, OAuthError, type RedirectTarget } from '@portcullis/protocol';
import { isTrustedClient, type ResolvedClient } from '../clients/client.ts';
import type { PageContext } from '../page-context.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { User } from '../users/sessions.ts';
import { clientDisplayName } from './client-display-name.ts';

/** A request whose client is known and whose redirect URI that client registered. */
export interface ClientRequest {
  readonly client: ResolvedClient;
  readonly target: RedirectTarget;
  readonly state: string | undefined;
}

/**
 * Refuses a request. The authorization server MUST NOT be a relay that sends people to addresses which a stranger
 * registered a minute ago: it redirects on its own only for clients that the operator set up and for people who are
 * signed in; anybody else reads where the way leads, and decides.
 * @see OAuth 2.1 draft 13 §7.12.2
 */
export async function rejectRequest(
  context: PageContext,
  { client, target, state }: ClientRequest,
  user: User | null,
  cause: unknown,
): Promise<HttpResponse> {
  const { events, options, errors, layout } = context;
  const error = toOAuthError(cause);
  const reference = errors.reference();
  events({
    type: 'request.rejected',
    endpoint: '/authorize',
    clientId: client.id,
    error: error.code,
    reason: error.reason ?? error.description,
    reference,
  });
  const location = errorResponseUrl(target, error, { state, issuer: options.issuer });
  if (user !== null || isTrustedClient(client)) return respondRedirect(location);

  const name = clientDisplayName(client, layout);
  const notice = messagePage(layout, {
    heading: layout.text('refused.heading'),
    sentences: [layout.text('refused.what', { app: name }), layout.text('refused.unverified')],
    action: { label: layout.text('refused.return', { app: name }), href: location, target: target.display },
    forDevelopers: error.description,
    reference,
  });
  const headers = error.status === 503 ? { 'retry-after': String(error.retryAfter ?? 5) } : {};
  return respondPage(notice, { status: error.status, headers });
}

/** Whatever is thrown, as an error that may travel. What was not foreseen stays in the event log. */
export function toOAuthError(cause: unknown): OAuthError {
  if (cause instanceof OAuthError) return cause;
  return new OAuthError('server_error', 'The authorization server met an unexpected condition.', {
    reason: String(cause),
    cause,
  });
}
