/** The API of the external UI: the application asks what a challenge is about, and accepts or refuses it. */
import { type HttpResponse, respondJson } from '@portcullis/http';
import { OAuthError, type Scopes } from '@portcullis/protocol';
import { loadTransaction, TRANSACTION_PARAMETER } from '../authorization/transactions.ts';
import { decideConsent } from '../consent/decision.ts';
import type { ServerContext } from '../context.ts';
import type { Route } from '../http/router.ts';
import type { ServerOptions } from '../options.ts';
import type { PageContext } from '../page-context.ts';
import type { Language } from '../ui/texts/languages.ts';
import { findAccountByAddress, findOrCreateAccount } from './accounts.ts';
import type { ExternalDecision, ExternalUiChallenge, ExternalUiMessages } from './challenges.ts';
import {
  type ChallengedConsent,
  describeChallengedConsent,
  describeLogin,
  isUnchanged,
  loadChallengedConsent,
} from './describe-challenge.ts';
import type { ExternalUiRules } from './options.ts';
import { type Members, readSignedRequest } from './signed-request.ts';

/**
 * Its requests decide nothing by themselves: an accepted challenge takes effect only in the browser that was sent there.
 * @param contextIn the page context of a language
 */
export function createExternalUiApi(
  context: ServerContext,
  rules: ExternalUiRules,
  { challenges, results }: ExternalUiMessages,
  contextIn: (language: Language) => PageContext,
): readonly Route[] {
  const continuePath = `${new URL(context.options.issuer).origin}/headless/continue`;

  const readChallenge = (members: Members): ExternalUiChallenge => {
    const challenge = challenges.decrypt(readText(members, 'challenge'));
    if (challenge === null) throw challengeGone();
    return challenge;
  };
  const conclude = async (
    challenge: ExternalUiChallenge,
    decision: ExternalDecision,
  ): Promise<HttpResponse> => {
    // Point of no return: the challenge is used.
    if (!(await challenges.consume(challenge))) throw challengeGone();
    return respondJson({ continue: `${continuePath}?answer=${results.encrypt({ challenge, decision })}` });
  };
  const route = (path: string, handle: (members: Members) => Promise<HttpResponse>): Route => ({
    method: 'POST',
    path,
    handle: async (request) => handle(await readSignedRequest(context, rules, request)),
  });

  return [
    route('/headless/ask', async (members) => {
      const challenge = readChallenge(members);
      const context = contextIn(challenge.language);
      return respondJson(
        challenge.kind === 'consent'
          ? describeChallengedConsent(context, challenge, await loadUnchangedConsent(context, challenge))
          : describeLogin(context, challenge, await loadOpenTransaction(context, challenge)),
      );
    }),

    route('/headless/accept', async (members) => {
      const challenge = readChallenge(members);
      const context = contextIn(challenge.language);
      if (challenge.kind === 'consent') {
        const choice = { scopes: readScopeList(members), workspace: readText(members, 'workspace', '') };
        checkChoice(await loadUnchangedConsent(context, challenge), readText(members, 'account'), choice);
        return conclude(challenge, { kind: 'consent', ...choice });
      }
      await loadOpenTransaction(context, challenge);
      const seconds = readSeconds(members, context.options);
      const account = await findOrCreateAccount(context, rules, readText(members, 'email'));
      return conclude(challenge, { kind: 'login', accountId: account.id, seconds });
    }),

    route('/headless/sign-out', async (members) => {
      const account = await findAccountByAddress(context, readText(members, 'email'));
      const count = account === null ? 0 : await context.store.endSessions(account.id, null);
      if (account !== null) context.events({ type: 'session.ended', accountId: account.id, count });
      return respondJson({ ended: count });
    }),

    route('/headless/refuse', (members) => conclude(readChallenge(members), { kind: 'refused' })),
  ];
}

/** The consent request, if it is still the one of the challenge. */
async function loadUnchangedConsent(
  context: PageContext,
  challenge: ExternalUiChallenge,
): Promise<ChallengedConsent> {
  const pending = await loadChallengedConsent(context, challenge);
  if (pending === null || !isUnchanged(pending.consentRequest, challenge)) throw challengeGone();
  return pending;
}

/** The transaction that a user logs in for; `null`: an account page. */
async function loadOpenTransaction(
  context: PageContext,
  { loginTarget }: ExternalUiChallenge,
): ReturnType<typeof loadTransaction> {
  const id = loginTarget[TRANSACTION_PARAMETER];
  if (id === undefined) return null;
  const transaction = await loadTransaction(context, id);
  if (transaction === null) throw challengeGone();
  return transaction;
}

/** Consent fixation: only the user who is asked may decide, even if another one is signed in at the application. */
function checkChoice(
  { account, consentRequest }: ChallengedConsent,
  accountId: string,
  choice: { readonly scopes: Scopes; readonly workspace: string },
): void {
  if (accountId !== account.id)
    throw new OAuthError(
      'access_denied',
      'The account is not the one that is asked: let the user log in again.',
    );
  const read = decideConsent(consentRequest, choice);
  if (typeof read === 'string') throw new OAuthError('invalid_request', ISSUES[read]);
}

const ISSUES = {
  foreign: 'Accept only scopes and a workspace that were requested, and every scope that is not optional.',
  nothing: 'Accept at least one scope, or refuse.',
  'no-workspace': 'Choose one of the workspaces.',
} as const;

function challengeGone(): OAuthError {
  const description =
    'The challenge is unknown, used or expired: send the browser to /headless/continue with it to start this step again.';
  return new OAuthError('invalid_grant', description);
}

/** @param absent default of a missing member; without one the member is required */
function readText(members: Members, name: string, absent?: string): string {
  const value = members[name] ?? absent;
  if (typeof value === 'string') return value;
  throw new OAuthError('invalid_request', `The member ${name} must be a text.`);
}

function readScopeList({ scopes }: Members): Scopes {
  if (Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string')) return scopes;
  throw new OAuthError('invalid_request', 'The member scopes must be a list of texts.');
}

/** How long the sign-in is to be remembered here: at least for this request, at most as long as our own. */
function readSeconds({ remember = 0 }: Members, { lifetimes }: ServerOptions): number {
  if (typeof remember !== 'number' || !Number.isSafeInteger(remember) || remember < 0)
    throw new OAuthError('invalid_request', 'The member remember must be whole seconds.');
  return Math.min(Math.max(remember, lifetimes.transaction), lifetimes.session);
}
