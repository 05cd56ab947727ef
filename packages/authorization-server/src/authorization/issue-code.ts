/** Ends an authorization transaction: issues the single-use authorization code, or sends an error to the client. */

import { type HttpResponse, respondSeeOther } from '@portcullis/http';
import {
  type AuthorizationResponseContext,
  codeResponseUrl,
  errorResponseUrl,
  OAuthError,
} from '@portcullis/protocol';
import type { EventSink } from '../audit/events.ts';
import { lookupKeyOf, newSortableSecret } from '../secrets.ts';
import type { AuthorizationCodeRecord } from '../store/index.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import { unmetAuthentication } from './check-request.ts';
import { toOAuthError } from './error-response.ts';
import type { ConsentDecision } from './next-step.ts';
import type { PageContext } from './page-context.ts';
import { consentDigestOf } from './remembered-consent.ts';
import { DEVICE_CODE_LIFETIME, isDeviceTarget } from './resolve-client.ts';
import type { AuthorizationTransaction } from './transactions.ts';

/** What a user granted, and the grant that the code will create. */
interface GrantedAuthorization {
  readonly accountId: string;
  readonly decision: ConsentDecision;
  readonly grantId: string;
}

/**
 * Issues the code and redirects to the client with `code`, `state` and `iss`.
 * @see RFC 6749 §4.1.2, RFC 9207 §2
 */
export async function issueCode(
  context: PageContext,
  transaction: AuthorizationTransaction,
  granted: GrantedAuthorization,
): Promise<HttpResponse> {
  const { accountId, decision } = granted;
  const unmet = unmetAuthentication(context.options, transaction.record, transaction.authentication);
  if (unmet !== null) return rejectTransaction(context, transaction, unmet);
  const code = newSortableSecret();
  const codeRecord = createCodeRecord(context, transaction, granted, code);
  return completeTransaction(context, transaction, codeRecord, (responseContext) => {
    const about = {
      transactionId: transaction.record.id,
      clientId: transaction.client.id,
      accountId,
      grantId: codeRecord.grantId,
      scopes: decision.scopes,
    };
    context.events({ type: decision.source === 'user' ? 'consent.allowed' : 'consent.remembered', ...about });
    context.events({ type: 'authorization_code.issued', ...about });
    return codeResponseUrl(transaction.target, code, responseContext);
  });
}

/** Live grants of one user for one client. A client that needs more has lost the older ones. */
const MAX_GRANTS = 200;

/** After a code was issued, revokes the least recently used grants beyond the bound. A failure does not concern the code. */
async function limitGrants(
  { store, events }: PageContext,
  { accountId, clientId, issuedAt: now }: AuthorizationCodeRecord,
): Promise<void> {
  try {
    if (!(await store.hasClientGrants(accountId, clientId, MAX_GRANTS))) return;
    // Point of no return: surplus grants are revoked with their tokens.
    const count = await store.revokeSurplusGrants(accountId, clientId, MAX_GRANTS - 1, now);
    if (count > 0) events({ type: 'grant.revoked', accountId, clientId, count, reason: 'surplus' });
  } catch (cause) {
    recordFailure(events, cause, { clientId });
  }
}

function recordFailure(
  events: EventSink,
  cause: unknown,
  about: { readonly transactionId?: string; readonly clientId: string },
): OAuthError {
  const error = toOAuthError(cause);
  const reason = error.reason ?? error.description;
  events({ type: 'request.failed', endpoint: '/consent', ...about, reason });
  return error;
}
function createCodeRecord(
  { clock, options }: Pick<PageContext, 'clock' | 'options'>,
  { record, client, target, authentication }: AuthorizationTransaction,
  { accountId, decision: { scopes, workspace }, grantId }: GrantedAuthorization,
  code: string,
): AuthorizationCodeRecord {
  const issuedAt = clock();
  // A device polls for it at its own pace. Once it had expired, ending all access of the user would no longer find it.
  const lifetime = isDeviceTarget(target, options.issuer) ? DEVICE_CODE_LIFETIME : options.lifetimes.code;
  return {
    hash: lookupKeyOf(code),
    grantId,
    clientId: client.id,
    accountId,
    redirectUri: record.redirectUriSent ? record.redirectUri : null,
    codeChallenge: record.codeChallenge,
    keyThumbprint: record.keyThumbprint ?? null,
    authentication,
    scopes,
    resources: record.resources,
    workspace,
    consentDigest: consentDigestOf(client, target, options.resources.get(record.resources[0] ?? '')),
    issuedAt,
    expiresAt: issuedAt + lifetime,
  };
}

/** Ends a transaction that the user declined. @see OAuth 2.1 draft 13 §4.1.2.1, RFC 6749 §4.1.2.1 */
export function denyConsent(
  context: PageContext,
  transaction: AuthorizationTransaction,
): Promise<HttpResponse> {
  const { record, client, accountId, target } = transaction;
  return completeTransaction(context, transaction, null, (responseContext) => {
    context.events({
      type: 'consent.denied',
      transactionId: record.id,
      clientId: client.id,
      ...(accountId !== null && { accountId }),
    });
    return errorResponseUrl(target, new OAuthError('access_denied', 'The user declined.'), responseContext);
  });
}

/** Ends a transaction with an error that is not the user's decision. */
export function rejectTransaction(
  context: PageContext,
  transaction: AuthorizationTransaction,
  error: OAuthError,
): Promise<HttpResponse> {
  return completeTransaction(context, transaction, null, (responseContext) =>
    errorResponseUrl(transaction.target, error, responseContext),
  );
}

/** Once the redirect URI is proven and the user has decided, a failure is sent to the client by redirect, too. */
async function completeTransaction(
  context: PageContext,
  { record, state, target, client, decision }: AuthorizationTransaction,
  code: AuthorizationCodeRecord | null,
  locate: (responseContext: AuthorizationResponseContext) => string,
): Promise<HttpResponse> {
  const { store, events, options } = context;
  const { issuer } = options;
  const responseContext = { state, issuer };
  try {
    // Point of no return: the transaction, if it was stored, is deleted, and its code, if any, is valid.
    if (code !== null && decision?.source === 'remembered') await store.issueCode(code);
    else if (!(await store.completeTransaction(record.id, code)))
      return context.errors.show('/consent', 'gone');
    const response = respondSeeOther(locate(responseContext), { isHttps: issuer.startsWith('https:') });
    if (code !== null) await limitGrants(context, code);
    return response;
  } catch (cause) {
    const error = recordFailure(events, cause, { transactionId: record.id, clientId: client.id });
    return respondRedirect(errorResponseUrl(target, error, responseContext));
  }
}
