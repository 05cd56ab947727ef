/** Remembered consent: whether a request may be answered without asking, because its person has answered it before. */
import type { HttpRequest } from '@portcullis/http';
import type { ServerContext } from '../context.ts';
import { findMatchingConsent, type RepeatedRequest } from './remembered-consent.ts';
import type { ConsentDecision } from './transaction.ts';

/** What the person allowed before; `null` when they have to be asked. Whatever goes wrong, they are. */
export async function findRememberedConsent(
  context: ServerContext,
  request: HttpRequest,
  repeated: RepeatedRequest,
): Promise<ConsentDecision | null> {
  if (!isOwnNavigation(request)) return null;
  const answered = await findMatchingConsent(context, repeated).catch(() => null);
  if (answered === null) return null;
  return { scopes: repeated.scopes, workspace: answered.workspace, by: 'memory' };
}

/**
 * Whether the browser says that the person came here by themselves or from our own site, in a page of its own. Another
 * site's link, a frame, a page fetched before anybody asked for it, or a browser that says nothing: the page asks.
 */
function isOwnNavigation({ method, headers }: HttpRequest): boolean {
  return (
    method === 'GET' &&
    !headers.has('sec-purpose') &&
    !headers.has('purpose') &&
    ['same-origin', 'same-site', 'none'].includes(headers.get('sec-fetch-site') ?? '') &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    headers.get('sec-fetch-dest') === 'document'
  );
}
