/** The way back from the operator's application: its answer takes effect in the browser that began, and in no other. */
import { type ConnectionInfo, type HttpRequest, type HttpResponse, queryOf } from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import { advance, decline } from '../authorize/advance.ts';
import { deliberate, fingerprint } from '../authorize/deliberation.ts';
import { findFlow } from '../authorize/flows.ts';
import { readApproval } from '../authorize/read-approval.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { findLoginTarget } from '../login/login-target.ts';
import type { Route } from '../routes.ts';
import { hashSecret } from '../secrets.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { againPath } from './describe-challenge.ts';
import { digestOf } from './hand-over.ts';
import type { Challenge, Decision, Tickets } from './tickets.ts';

const PATH = '/headless/continue';

/** An answer of the application, and the browser that brought it. */
interface BroughtAnswer {
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
  readonly challenge: Challenge;
  /** Spends the answer: whether this is its first time. */
  spend(): Promise<boolean>;
}

export function createContinue(rooms: Rooms, tickets: Tickets): Route {
  const { edge } = rooms;
  return edge.route('GET', PATH, async (request, connection) => {
    const parameters = readParameters(queryOf(request));
    const answer = tickets.openAnswer(parameters.one('answer') ?? '');
    if (answer === null) {
      const old = tickets.openOldChallenge(parameters.one('challenge') ?? '');
      return old === null ? edge.refuse(PATH, 'gone') : respondRedirect(againPath(old));
    }
    const { challenge, decision } = answer;
    // What was fetched before anybody asked for it, or by a program that looks at links, decides nothing.
    const isEarly = request.method !== 'GET' || request.headers.has('sec-purpose');
    if (isEarly) return refuseStale(rooms, challenge);
    const brought = { request, connection, challenge, spend: () => tickets.spendAnswer(answer) };
    return challenge.kind === 'consent'
      ? continueConsent(rooms, brought, decision)
      : continueLogin(rooms, brought, decision);
  });
}

async function continueLogin(
  rooms: Rooms,
  brought: BroughtAnswer,
  decision: Decision,
): Promise<HttpResponse> {
  const { edge, configuration, sessions } = rooms;
  const { request, connection, challenge, spend } = brought;
  const loginTarget = await findLoginTarget(rooms, request, loginTargetOf(challenge));
  if ('missing' in loginTarget) return edge.refuse(PATH, loginTarget.missing);
  // Login CSRF: nobody is signed in by an answer that was made for another browser.
  if (digestOf(loginTarget.binding) !== challenge.bound) return refuseStale(rooms, challenge);
  // Point of no return: the answer is used.
  if (!(await spend())) return edge.refuse(PATH, 'gone');
  if (decision.kind !== 'login') return refuseLogin(rooms, brought);
  const account = await configuration.store.findAccount(decision.accountId);
  if (account === null || account.disabledAt !== null) return edge.refuse(PATH, 'gone');
  const about = {
    accountId: account.id,
    ...(loginTarget.transactionId !== null && { transactionId: loginTarget.transactionId }),
  };
  configuration.events({ type: 'login.succeeded', ...about });
  return loginTarget.resumeAs(account.id, [
    await sessions.start(request, connection, account.id, decision.seconds),
  ]);
}

/** Nobody signed in: an app is told; who came on their own account reads it. */
async function refuseLogin(rooms: Rooms, { request, challenge }: BroughtAnswer): Promise<HttpResponse> {
  const { layout, edge } = rooms;
  if (challenge.loginTarget['flow'] !== undefined) {
    const flow = await findFlow(rooms, request, loginTargetOf(challenge));
    return 'missing' in flow ? edge.refuse(PATH, flow.missing) : decline(rooms, flow);
  }
  const page = messagePage(layout, {
    heading: layout.text('sign-in.failed-title'),
    sentences: [],
    action: { label: layout.text('sign-in.again'), href: againPath(challenge) },
  });
  return respondPage(page, { status: 403 });
}

async function continueConsent(
  rooms: Rooms,
  brought: BroughtAnswer,
  decision: Decision,
): Promise<HttpResponse> {
  const { edge, configuration } = rooms;
  const { request, challenge, spend } = brought;
  const flow = await findFlow(rooms, request, loginTargetOf(challenge));
  if ('missing' in flow) return edge.refuse(PATH, flow.missing);
  // Consent fixation: what was allowed is for this browser, this session, and the account that was asked.
  if (
    digestOf(flow.bound) !== challenge.bound ||
    flow.subject !== challenge.accountId ||
    flow.subject === null
  ) {
    return refuseStale(rooms, challenge);
  }
  if (decision.kind !== 'consent') {
    return (await spend()) ? decline(rooms, flow) : edge.refuse(PATH, 'gone');
  }
  const afresh = challenge.loginTarget['afresh'] === 'yes';
  const deliberation = await deliberate(configuration, flow, flow.subject, afresh);
  const isAsAsked = hashSecret(fingerprint(deliberation)) === challenge.question;
  const approval = readApproval(deliberation, decision);
  if (!isAsAsked || typeof approval === 'string') return refuseStale(rooms, challenge);
  // Point of no return: the answer is used.
  return (await spend()) ? advance(rooms, { ...flow, approval }) : edge.refuse(PATH, 'gone');
}

function refuseStale({ edge, layout }: Rooms, challenge: Challenge): Promise<HttpResponse> {
  const isLogin = challenge.kind === 'login';
  const label = layout.text(isLogin ? 'sign-in.again' : 'consent.review-again');
  return edge.refuse(PATH, 'stale-form', { action: { label, href: againPath(challenge) } });
}

function loginTargetOf({ loginTarget }: Challenge): Parameters {
  return readParameters(new URLSearchParams({ ...loginTarget }));
}
