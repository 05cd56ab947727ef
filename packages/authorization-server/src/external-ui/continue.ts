/** The way back from the external UI: its result takes effect only in the browser that was sent there (login CSRF). */
import { type ConnectionInfo, type HttpRequest, type HttpResponse, queryOf } from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import { continueTransaction } from '../authorization/continue-transaction.ts';
import { denyConsent } from '../authorization/issue-code.ts';
import { findTransaction } from '../authorization/transactions.ts';
import { createConsentRequest } from '../consent/consent-request.ts';
import { decideConsent } from '../consent/decision.ts';
import type { Route } from '../http/router.ts';
import { findLoginTarget } from '../login/login-target.ts';
import type { PageContext, PageRouter } from '../page-context.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import {
  digestOf,
  type ExternalDecision,
  type ExternalUiChallenge,
  type ExternalUiMessages,
} from './challenges.ts';
import { asksAfresh, isUnchanged, restartPath } from './describe-challenge.ts';

const PATH = '/headless/continue';

/** A result, and the browser that brought it. */
interface BroughtResult {
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
  readonly challenge: ExternalUiChallenge;
  /** Consumes the result: `false` when it was used before. */
  consume(): Promise<boolean>;
}

export function createContinueRoute(pages: PageRouter, { challenges, results }: ExternalUiMessages): Route {
  return pages.route('GET', PATH, async (context, request, connection) => {
    const { errors } = context;
    const parameters = readParameters(queryOf(request));
    const result = results.decrypt(parameters.one('answer') ?? '');
    if (result === null) {
      const expired = challenges.decryptExpired(parameters.one('challenge') ?? '');
      return expired === null ? errors.show(PATH, 'gone') : respondRedirect(restartPath(expired));
    }
    const { challenge, decision } = result;
    // A prefetch, or a program that checks links, decides nothing.
    const isPrefetch = request.method !== 'GET' || request.headers.has('sec-purpose');
    if (isPrefetch) return rejectStale(context, challenge);
    const brought = { request, connection, challenge, consume: () => results.consume(result) };
    return challenge.kind === 'consent'
      ? continueConsent(context, brought, decision)
      : continueLogin(context, brought, decision);
  });
}

async function continueLogin(
  context: PageContext,
  brought: BroughtResult,
  decision: ExternalDecision,
): Promise<HttpResponse> {
  const { errors, store, events, sessions } = context;
  const { request, connection, challenge, consume } = brought;
  const loginTarget = await findLoginTarget(context, request, loginTargetOf(challenge));
  if ('missing' in loginTarget) return errors.showMissing(PATH, loginTarget);
  // Login CSRF: a result for one browser does not sign in another.
  if (digestOf(loginTarget.binding) !== challenge.csrfBinding) return rejectStale(context, challenge);
  // Point of no return: the result is used.
  if (!(await consume())) return errors.show(PATH, 'gone');
  if (decision.kind !== 'login')
    return loginTarget.transactionId === null ? showFailure(context, challenge) : loginTarget.cancel();
  const account = await store.findAccount(decision.accountId);
  if (account === null || account.disabledAt !== null) return errors.show(PATH, 'gone');
  const { transactionId } = loginTarget;
  events({
    type: 'login.succeeded',
    accountId: account.id,
    ...(transactionId !== null && { transactionId }),
  });
  return loginTarget.resumeAs(account.id, [
    await sessions.start(request, connection, account.id, { methods: null, seconds: decision.seconds }),
  ]);
}

/** A login for an account page has no client that learns of its failure. */
async function showFailure({ layout }: PageContext, challenge: ExternalUiChallenge): Promise<HttpResponse> {
  const page = messagePage(layout, {
    heading: layout.text('sign-in.failed-title'),
    sentences: [],
    action: { label: layout.text('sign-in.again'), href: restartPath(challenge) },
  });
  return respondPage(page, { status: 403 });
}

async function continueConsent(
  context: PageContext,
  brought: BroughtResult,
  decision: ExternalDecision,
): Promise<HttpResponse> {
  const { errors } = context;
  const { request, challenge, consume } = brought;
  const transaction = await findTransaction(context, request, loginTargetOf(challenge));
  if ('missing' in transaction) return errors.showMissing(PATH, transaction);
  // Consent fixation: the decision is for this browser, this session and the account that was asked.
  if (
    digestOf(transaction.csrfBinding) !== challenge.csrfBinding ||
    transaction.accountId !== challenge.accountId ||
    transaction.accountId === null
  ) {
    return rejectStale(context, challenge);
  }
  if (decision.kind !== 'consent')
    return (await consume()) ? denyConsent(context, transaction) : errors.show(PATH, 'gone');
  const { accountId } = transaction;
  const consentRequest = await createConsentRequest(context, transaction, accountId, asksAfresh(challenge));
  const consentDecision = decideConsent(consentRequest, decision);
  if (!isUnchanged(consentRequest, challenge) || typeof consentDecision === 'string')
    return rejectStale(context, challenge);
  // Point of no return: the result is used.
  return (await consume())
    ? continueTransaction(context, { ...transaction, decision: consentDecision })
    : errors.show(PATH, 'gone');
}

function rejectStale({ errors, layout }: PageContext, challenge: ExternalUiChallenge): Promise<HttpResponse> {
  const isLogin = challenge.kind === 'login';
  const label = layout.text(isLogin ? 'sign-in.again' : 'consent.review-again');
  return errors.show(PATH, 'stale-form', { action: { label, href: restartPath(challenge) } });
}

function loginTargetOf({ loginTarget }: ExternalUiChallenge): Parameters {
  return readParameters(new URLSearchParams({ ...loginTarget }));
}
