/** The way back from the external UI: its result takes effect only in the browser that was sent there (login CSRF). */
import { type ConnectionInfo, type HttpRequest, type HttpResponse, queryOf } from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import { continueTransaction } from '../authorization/continue-transaction.ts';
import { denyConsent } from '../authorization/issue-code.ts';
import { findTransaction, TRANSACTION_PARAMETER } from '../authorization/transactions.ts';
import { createConsentRequest, serializeConsentRequest } from '../consent/consent-request.ts';
import { decideConsent } from '../consent/decision.ts';
import type { Route } from '../http/router.ts';
import { findLoginTarget } from '../login/login-target.ts';
import type { PageContext, PageRouter } from '../page-context.ts';
import { hashSecret } from '../secrets.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { Challenges, ExternalDecision, ExternalUiChallenge } from './challenges.ts';
import { restartPath } from './describe-challenge.ts';

const PATH = '/headless/continue';

/** A result, and the browser that brought it. */
interface BroughtResult {
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
  readonly challenge: ExternalUiChallenge;
  /** Consumes the result: `false` when it was used before. */
  consume(): Promise<boolean>;
}

export function createContinueRoute(pages: PageRouter, challenges: Challenges): Route {
  return pages.route('GET', PATH, async (context, request, connection) => {
    const { errors } = context;
    const parameters = readParameters(queryOf(request));
    const result = challenges.decryptResult(parameters.one('answer') ?? '');
    if (result === null) {
      const expired = challenges.decryptExpiredChallenge(parameters.one('challenge') ?? '');
      return expired === null ? errors.show(PATH, 'gone') : respondRedirect(restartPath(expired));
    }
    const { challenge, decision } = result;
    // A prefetch, or a program that checks links, decides nothing.
    const isPrefetch = request.method !== 'GET' || request.headers.has('sec-purpose');
    if (isPrefetch) return rejectStale(context, challenge);
    const brought = { request, connection, challenge, consume: () => challenges.consumeResult(result) };
    return challenge.kind === 'consent'
      ? continueConsent(context, brought, decision)
      : continueLogin(context, brought, decision);
  });
}

/** What a challenge and its result are bound to, as one text. */
export function digestOf(csrfBinding: readonly string[]): string {
  return hashSecret(JSON.stringify(csrfBinding));
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
  if (decision.kind !== 'login') return cancelLogin(context, brought);
  const account = await store.findAccount(decision.accountId);
  if (account === null || account.disabledAt !== null) return errors.show(PATH, 'gone');
  const about = {
    accountId: account.id,
    ...(loginTarget.transactionId !== null && { transactionId: loginTarget.transactionId }),
  };
  events({ type: 'login.succeeded', ...about });
  return loginTarget.resumeAs(account.id, [
    await sessions.start(request, connection, account.id, { methods: null, seconds: decision.seconds }),
  ]);
}

/** The login failed: sends `access_denied` to the client of a transaction; shows a page to other users. */
async function cancelLogin(
  context: PageContext,
  { request, challenge }: BroughtResult,
): Promise<HttpResponse> {
  const { layout, errors } = context;
  if (challenge.loginTarget[TRANSACTION_PARAMETER] !== undefined) {
    const transaction = await findTransaction(context, request, loginTargetOf(challenge));
    return 'missing' in transaction
      ? errors.showMissing(PATH, transaction)
      : denyConsent(context, transaction);
  }
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
  if (decision.kind !== 'consent') {
    return (await consume()) ? denyConsent(context, transaction) : errors.show(PATH, 'gone');
  }
  const afresh = challenge.loginTarget['afresh'] === 'yes';
  const consentRequest = await createConsentRequest(context, transaction, transaction.accountId, afresh);
  const isUnchanged = hashSecret(serializeConsentRequest(consentRequest)) === challenge.consentRequest;
  const consentDecision = decideConsent(consentRequest, decision);
  if (!isUnchanged || typeof consentDecision === 'string') return rejectStale(context, challenge);
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
