/** The way back from the operator's application: its answer takes effect in the browser that began, and in no other. */
import { type ConnectionInfo, type HttpRequest, type HttpResponse, queryOf } from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import { advance, denyConsent } from '../authorization/issue-code.ts';
import { findTransaction } from '../authorization/transactions.ts';
import { createConsentRequest, serializeConsentRequest } from '../consent/consent-request.ts';
import { decideConsent } from '../consent/decision.ts';
import type { Route } from '../http/router.ts';
import { findLoginTarget } from '../login/login-target.ts';
import type { PageContext } from '../page-context.ts';
import { hashSecret } from '../secrets.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { Challenge, Challenges, ExternalDecision } from './challenges.ts';
import { restartPath } from './describe-challenge.ts';
import { digestOf } from './redirects.ts';

const PATH = '/headless/continue';

/** An answer of the application, and the browser that brought it. */
interface BroughtAnswer {
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
  readonly challenge: Challenge;
  /** Spends the answer: whether this is its first time. */
  spend(): Promise<boolean>;
}

export function createContinueEndpoint(context: PageContext, challenges: Challenges): Route {
  const { errors } = context;
  return errors.route('GET', PATH, async (request, connection) => {
    const parameters = readParameters(queryOf(request));
    const answer = challenges.decryptResult(parameters.one('answer') ?? '');
    if (answer === null) {
      const old = challenges.decryptExpiredChallenge(parameters.one('challenge') ?? '');
      return old === null ? errors.refuse(PATH, 'gone') : respondRedirect(restartPath(old));
    }
    const { challenge, decision } = answer;
    // What was fetched before anybody asked for it, or by a program that looks at links, decides nothing.
    const isEarly = request.method !== 'GET' || request.headers.has('sec-purpose');
    if (isEarly) return refuseStale(context, challenge);
    const brought = { request, connection, challenge, spend: () => challenges.consumeResult(answer) };
    return challenge.kind === 'consent'
      ? continueConsent(context, brought, decision)
      : continueLogin(context, brought, decision);
  });
}

async function continueLogin(
  context: PageContext,
  brought: BroughtAnswer,
  decision: ExternalDecision,
): Promise<HttpResponse> {
  const { errors, store, events, sessions } = context;
  const { request, connection, challenge, spend } = brought;
  const loginTarget = await findLoginTarget(context, request, loginTargetOf(challenge));
  if ('missing' in loginTarget) return errors.refuse(PATH, loginTarget.missing);
  // Login CSRF: nobody is signed in by an answer that was made for another browser.
  if (digestOf(loginTarget.binding) !== challenge.csrfBinding) return refuseStale(context, challenge);
  // Point of no return: the answer is used.
  if (!(await spend())) return errors.refuse(PATH, 'gone');
  if (decision.kind !== 'login') return refuseLogin(context, brought);
  const account = await store.findAccount(decision.accountId);
  if (account === null || account.disabledAt !== null) return errors.refuse(PATH, 'gone');
  const about = {
    accountId: account.id,
    ...(loginTarget.transactionId !== null && { transactionId: loginTarget.transactionId }),
  };
  events({ type: 'login.succeeded', ...about });
  return loginTarget.resumeAs(account.id, [
    await sessions.start(request, connection, account.id, decision.seconds),
  ]);
}

/** Nobody signed in: an app is told; who came on their own account reads it. */
async function refuseLogin(
  context: PageContext,
  { request, challenge }: BroughtAnswer,
): Promise<HttpResponse> {
  const { layout, errors } = context;
  if (challenge.loginTarget['flow'] !== undefined) {
    const transaction = await findTransaction(context, request, loginTargetOf(challenge));
    return 'missing' in transaction
      ? errors.refuse(PATH, transaction.missing)
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
  brought: BroughtAnswer,
  decision: ExternalDecision,
): Promise<HttpResponse> {
  const { errors } = context;
  const { request, challenge, spend } = brought;
  const transaction = await findTransaction(context, request, loginTargetOf(challenge));
  if ('missing' in transaction) return errors.refuse(PATH, transaction.missing);
  // Consent fixation: what was allowed is for this browser, this session, and the account that was asked.
  if (
    digestOf(transaction.csrfBinding) !== challenge.csrfBinding ||
    transaction.accountId !== challenge.accountId ||
    transaction.accountId === null
  ) {
    return refuseStale(context, challenge);
  }
  if (decision.kind !== 'consent') {
    return (await spend()) ? denyConsent(context, transaction) : errors.refuse(PATH, 'gone');
  }
  const afresh = challenge.loginTarget['afresh'] === 'yes';
  const consentRequest = await createConsentRequest(context, transaction, transaction.accountId, afresh);
  const isAsAsked = hashSecret(serializeConsentRequest(consentRequest)) === challenge.question;
  const consentDecision = decideConsent(consentRequest, decision);
  if (!isAsAsked || typeof consentDecision === 'string') return refuseStale(context, challenge);
  // Point of no return: the answer is used.
  return (await spend())
    ? advance(context, { ...transaction, decision: consentDecision })
    : errors.refuse(PATH, 'gone');
}

function refuseStale({ errors, layout }: PageContext, challenge: Challenge): Promise<HttpResponse> {
  const isLogin = challenge.kind === 'login';
  const label = layout.text(isLogin ? 'sign-in.again' : 'consent.review-again');
  return errors.refuse(PATH, 'stale-form', { action: { label, href: restartPath(challenge) } });
}

function loginTargetOf({ loginTarget }: Challenge): Parameters {
  return readParameters(new URLSearchParams({ ...loginTarget }));
}
