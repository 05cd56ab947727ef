/** Moves a transaction on: to the page that it needs next, or to its end. */
import { type HttpResponse, respondSeeOther, withCookies } from '@portcullis/http';
import { codeResponseUrl, errorResponseUrl, OAuthError } from '@portcullis/protocol';
import type { PageContext } from '../page-context.ts';
import { lookupKeyOf, newIdentifier, newSortableSecret } from '../secrets.ts';
import type { AuthorizationCodeRecord } from '../store/index.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import { toOAuthError } from './error-response.ts';
import { nextStep } from './next-step.ts';
import { startFederatedLogin } from './start-federated-login.ts';
import { consentTermsOf } from './terms.ts';
import type { AuthorizationTransaction, ConsentDecision } from './transaction.ts';

/** Sends the browser to the next page of a flow, or back to its client with a code. */
export async function advance(
  context: PageContext,
  transaction: AuthorizationTransaction,
  cookies: readonly string[] = [],
): Promise<HttpResponse> {
  const { record, identityProvider, decision: approved } = transaction;
  // What a grant rests on there is made in its own transaction, by whoever acts in it and nobody else.
  const isNamed =
    identityProvider === null ||
    (await context.federation.hasTokens(record.linkedGrantId, identityProvider, transaction.accountId));
  const subject = isNamed ? transaction.accountId : null;
  const step = nextStep({ subject, approved }, identityProvider === null ? 'local' : 'third-party');
  if ('show' in step) return respondRedirect(pagePath(step.show, record.id), cookies);
  if ('leave' in step) return leave(context, transaction, step.leave.approved, cookies);
  return withCookies(await finish(context, transaction, step.finish.subject, step.finish.approved), cookies);
}

/** Sends the browser to the third party, and notes what has been allowed. */
async function leave(
  context: PageContext,
  { record: transaction, identityProvider, accountId: subject }: AuthorizationTransaction,
  { scopes, workspace }: ConsentDecision,
  cookies: readonly string[],
): Promise<HttpResponse> {
  if (identityProvider === null) throw new Error('there is no third party to leave for');
  const loginTarget = {
    transactionId: transaction.id,
    returnTo: null,
    accountId: subject,
    approvedScopes: scopes,
    workspace,
    isFresh: transaction.forceLogin,
    until: transaction.expiresAt,
  };
  const again = pagePath('consent', transaction.id);
  return startFederatedLogin(context, identityProvider, loginTarget, {
    endpoint: '/consent',
    again,
    cookies,
  });
}

/** Where the page of a flow stands. */
export function pagePath(page: 'login' | 'consent', transaction: string): string {
  return `/${page}?flow=${encodeURIComponent(transaction)}`;
}

/** Issues the code and redirects with it. */
async function finish(
  context: PageContext,
  transaction: AuthorizationTransaction,
  subject: string,
  decision: ConsentDecision,
): Promise<HttpResponse> {
  const {
    clock,
    events,
    options: { lifetimes },
  } = context;
  const { client, target } = transaction;
  const { scopes, workspace, by } = decision;
  const code = newSortableSecret();
  const issuedAt = clock();
  const codeRecord: AuthorizationCodeRecord = {
    hash: lookupKeyOf(code),
    grantId:
      (transaction.identityProvider === null ? null : transaction.record.linkedGrantId) ??
      newIdentifier('grant'),
    clientId: client.id,
    accountId: subject,
    redirectUri: transaction.record.redirectUriSent ? transaction.record.redirectUri : null,
    codeChallenge: transaction.record.codeChallenge,
    scopes,
    resources: transaction.record.resources,
    workspace,
    consentDigest: consentTermsOf(client, target),
    issuedAt,
    expiresAt: issuedAt + lifetimes.code,
  };
  return end(context, transaction, codeRecord, (responseContext) => {
    const about = {
      transactionId: transaction.record.id,
      clientId: client.id,
      accountId: subject,
      grantId: codeRecord.grantId,
      scopes,
    };
    events({ type: by === 'answer' ? 'consent.allowed' : 'consent.remembered', ...about });
    events({ type: 'authorization_code.issued', ...about });
    return codeResponseUrl(transaction.target, code, responseContext);
  });
}

/** Ends a flow without a code: the person declined. @see OAuth 2.1 draft 13 §4.1.2.1 */
export function denyConsent(
  context: PageContext,
  transaction: AuthorizationTransaction,
): Promise<HttpResponse> {
  const { record, client, accountId } = transaction;
  return end(context, transaction, null, (responseContext) => {
    context.events({
      type: 'consent.denied',
      transactionId: record.id,
      clientId: client.id,
      ...(accountId !== null && { accountId }),
    });
    return errorResponseUrl(
      transaction.target,
      new OAuthError('access_denied', 'The person declined.'),
      responseContext,
    );
  });
}

/** Ends a flow without a code, because something went wrong that is not the person's. */
export function rejectTransaction(
  context: PageContext,
  transaction: AuthorizationTransaction,
  error: OAuthError,
): Promise<HttpResponse> {
  return end(context, transaction, null, (responseContext) =>
    errorResponseUrl(transaction.target, error, responseContext),
  );
}

interface ResponseContext {
  readonly state: string | undefined;
  readonly issuer: string;
}

/** Once the redirect URI is proven and the person has answered, a failure travels by redirect too. */
async function end(
  context: PageContext,
  { record: transaction, target, client, decision }: AuthorizationTransaction,
  code: AuthorizationCodeRecord | null,
  locate: (context: ResponseContext) => string,
): Promise<HttpResponse> {
  const {
    store,
    events,
    options: { issuer },
  } = context;
  const responseContext = { state: transaction.state ?? undefined, issuer };
  try {
    // Point of no return: the transaction, if there was one, is gone, and its code, if any, stands.
    if (code !== null && decision?.by === 'memory') await store.issueCode(code);
    else if (!(await store.completeTransaction(transaction.id, code)))
      return context.errors.refuse('/consent', 'gone');
    return respondSeeOther(locate(responseContext), { isHttps: issuer.startsWith('https:') });
  } catch (cause) {
    const error = toOAuthError(cause);
    const reason = error.reason ?? error.description;
    events({
      type: 'request.failed',
      endpoint: '/consent',
      transactionId: transaction.id,
      clientId: client.id,
      reason,
    });
    return respondRedirect(errorResponseUrl(target, error, responseContext));
  }
}
