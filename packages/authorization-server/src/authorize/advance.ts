/** Moves a transaction on: to the page that it needs next, or to its end. */
import { type HttpResponse, respondSeeOther, withCookies } from '@portcullis/http';
import { codeResponseUrl, errorResponseUrl, OAuthError } from '@portcullis/protocol';
import { keyOf, newIdentifier, newTicket } from '../secrets.ts';
import type { AuthorizationCodeRecord } from '../store/index.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { Approval, Flow } from './flow.ts';
import { leaveFor } from './leave.ts';
import { nextStep } from './next-step.ts';
import { readError } from './refuse-request.ts';
import type { Rooms } from './rooms.ts';
import { termsOf } from './terms.ts';

/** Sends the browser to the next page of a flow, or back to its client with a code. */
export async function advance(
  rooms: Rooms,
  flow: Flow,
  cookies: readonly string[] = [],
): Promise<HttpResponse> {
  const { transaction, identityProvider, approval: approved } = flow;
  // What a grant rests on there is made in its own transaction, by whoever acts in it and nobody else.
  const isNamed =
    identityProvider === null ||
    (await rooms.upstream.hasTokens(transaction.linkedGrantId, identityProvider, flow.subject));
  const subject = isNamed ? flow.subject : null;
  const step = nextStep({ subject, approved }, identityProvider === null ? 'local' : 'third-party');
  if ('show' in step) return respondRedirect(pagePath(step.show, transaction.id), cookies);
  if ('leave' in step) return leave(rooms, flow, step.leave.approved, cookies);
  return withCookies(await finish(rooms, flow, step.finish.subject, step.finish.approved), cookies);
}

/** Sends the browser to the third party, and notes what has been allowed. */
async function leave(
  rooms: Rooms,
  { transaction, identityProvider, subject }: Flow,
  { scopes, workspace }: Approval,
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
  return leaveFor(rooms, identityProvider, loginTarget, { endpoint: '/consent', again, cookies });
}

/** Where the page of a flow stands. */
export function pagePath(page: 'login' | 'consent', flow: string): string {
  return `/${page}?flow=${encodeURIComponent(flow)}`;
}

/** Issues the code and redirects with it. */
async function finish(rooms: Rooms, flow: Flow, subject: string, approval: Approval): Promise<HttpResponse> {
  const { clock, events, lifetimes } = rooms.configuration;
  const { transaction, client, target } = flow;
  const { scopes, workspace, by } = approval;
  const code = newTicket();
  const issuedAt = clock();
  const record: AuthorizationCodeRecord = {
    hash: keyOf(code),
    grantId: (flow.identityProvider === null ? null : transaction.linkedGrantId) ?? newIdentifier('grant'),
    clientId: client.id,
    accountId: subject,
    redirectUri: transaction.redirectUriSent ? transaction.redirectUri : null,
    codeChallenge: transaction.codeChallenge,
    scopes,
    resources: transaction.resources,
    workspace,
    consentDigest: termsOf(client, target),
    issuedAt,
    expiresAt: issuedAt + lifetimes.code,
  };
  return end(rooms, flow, record, (context) => {
    const about = {
      transactionId: transaction.id,
      clientId: client.id,
      accountId: subject,
      grantId: record.grantId,
      scopes,
    };
    events({ type: by === 'answer' ? 'consent.allowed' : 'consent.remembered', ...about });
    events({ type: 'authorization_code.issued', ...about });
    return codeResponseUrl(flow.target, code, context);
  });
}

/** Ends a flow without a code: the person declined. @see OAuth 2.1 draft 13 §4.1.2.1 */
export function decline(rooms: Rooms, flow: Flow): Promise<HttpResponse> {
  const { transaction, client, subject } = flow;
  return end(rooms, flow, null, (context) => {
    rooms.configuration.events({
      type: 'consent.denied',
      transactionId: transaction.id,
      clientId: client.id,
      ...(subject !== null && { accountId: subject }),
    });
    return errorResponseUrl(flow.target, new OAuthError('access_denied', 'The person declined.'), context);
  });
}

/** Ends a flow without a code, because something went wrong that is not the person's. */
export function refuseFlow(rooms: Rooms, flow: Flow, error: OAuthError): Promise<HttpResponse> {
  return end(rooms, flow, null, (context) => errorResponseUrl(flow.target, error, context));
}

interface ResponseContext {
  readonly state: string | undefined;
  readonly issuer: string;
}

/** Once the redirect URI is proven and the person has answered, a failure travels by redirect too. */
async function end(
  rooms: Rooms,
  { transaction, target, client, approval }: Flow,
  code: AuthorizationCodeRecord | null,
  locate: (context: ResponseContext) => string,
): Promise<HttpResponse> {
  const { store, issuer, events } = rooms.configuration;
  const context = { state: transaction.state ?? undefined, issuer };
  try {
    // Point of no return: the transaction, if there was one, is gone, and its code, if any, stands.
    if (code !== null && approval?.by === 'memory') await store.issueCode(code);
    else if (!(await store.completeTransaction(transaction.id, code)))
      return rooms.edge.refuse('/consent', 'gone');
    return respondSeeOther(locate(context), { isHttps: issuer.startsWith('https:') });
  } catch (cause) {
    const error = readError(cause);
    const reason = error.reason ?? error.description;
    events({
      type: 'request.failed',
      endpoint: '/consent',
      transactionId: transaction.id,
      clientId: client.id,
      reason,
    });
    return respondRedirect(errorResponseUrl(target, error, context));
  }
}
