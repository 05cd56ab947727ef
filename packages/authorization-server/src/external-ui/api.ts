/** The interface of the operator's application: it asks what a challenge is about, and accepts or refuses. */

import { type HttpResponse, respondJson } from '@portcullis/http';
import { OAuthError, type Scopes } from '@portcullis/protocol';
import { serializeConsentRequest } from '../consent/consent-request.ts';
import { decideConsent } from '../consent/decision.ts';
import type { ServerContext } from '../context.ts';
import type { Route } from '../http/router.ts';
import type { ServerOptions } from '../options.ts';
import type { PageContext } from '../page-context.ts';
import { hashSecret } from '../secrets.ts';
import type { Language } from '../ui/texts/languages.ts';
import { findAccountByAddress, findOrCreateAccount } from './accounts.ts';
import type { Challenge, Challenges, ExternalDecision } from './challenges.ts';
import {
  describeLogin,
  describePendingConsent,
  loadPendingConsent,
  loadTransaction,
  type PendingConsent,
} from './describe-challenge.ts';
import type { ExternalUiRules } from './external-ui-options.ts';
import { createSignedRequests, type Members } from './signed-request.ts';

/**
 * Its answers change nothing by themselves: what was accepted takes effect in the browser that began, and in no other.
 * @param contextIn the rooms that speak a language
 */
export function createExternalUiApi(
  context: ServerContext,
  rules: ExternalUiRules,
  challenges: Challenges,
  contextIn: (language: Language) => PageContext,
): readonly Route[] {
  const signed = createSignedRequests(context, rules);
  const continuePath = `${new URL(context.options.issuer).origin}/headless/continue`;

  const readChallenge = (members: Members): Challenge => {
    const challenge = challenges.decryptChallenge(readText(members, 'challenge'));
    if (challenge === null) throw noLongerOpen();
    return challenge;
  };
  const conclude = async (challenge: Challenge, decision: ExternalDecision): Promise<HttpResponse> => {
    // Point of no return: a challenge is answered once.
    if (!(await challenges.consumeChallenge(challenge))) throw noLongerOpen();
    return respondJson({
      continue: `${continuePath}?answer=${challenges.encryptResult(challenge, decision)}`,
    });
  };
  const route = (path: string, handle: (members: Members) => Promise<HttpResponse>): Route => ({
    method: 'POST',
    path,
    handle: async (request) => handle(await signed.read(request)),
  });

  return [
    route('/headless/ask', async (members) => {
      const challenge = readChallenge(members);
      const context = contextIn(challenge.language);
      if (challenge.kind === 'consent') {
        return respondJson(describePendingConsent(context, challenge, await loadAsked(context, challenge)));
      }
      return respondJson(describeLogin(context, challenge, await loadOpenTransaction(context, challenge)));
    }),

    route('/headless/accept', async (members) => {
      const challenge = readChallenge(members);
      const context = contextIn(challenge.language);
      if (challenge.kind === 'consent') {
        const choice = { scopes: readScopeList(members), workspace: readText(members, 'workspace', '') };
        checkChoice(await loadAsked(context, challenge), readText(members, 'account'), choice);
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

/** The consent as it stands, if it is still what the challenge was made for. */
async function loadAsked(context: PageContext, challenge: Challenge): Promise<PendingConsent> {
  const matter = await loadPendingConsent(context, challenge);
  if (matter === null || hashSecret(serializeConsentRequest(matter.consentRequest)) !== challenge.question)
    throw noLongerOpen();
  return matter;
}

/** The request of the app that somebody signs in for; `null` when they come on their own account. */
async function loadOpenTransaction(
  context: PageContext,
  { loginTarget }: Challenge,
): ReturnType<typeof loadTransaction> {
  if (loginTarget['flow'] === undefined) return null;
  const transaction = await loadTransaction(context, loginTarget['flow']);
  if (transaction === null) throw noLongerOpen();
  return transaction;
}

/** Consent fixation: what one person was asked is not for another to allow, whoever is signed in at the application. */
function checkChoice(
  { account, consentRequest }: PendingConsent,
  accountId: string,
  choice: { readonly scopes: Scopes; readonly workspace: string },
): void {
  if (accountId !== account.id) {
    const description = 'The account is not the one that is asked: let the person sign in again.';
    throw new OAuthError('access_denied', description);
  }
  const read = decideConsent(consentRequest, choice);
  if (typeof read === 'string') throw new OAuthError('invalid_request', ISSUES[read]);
}

const ISSUES = {
  foreign: 'Accept scopes and a workspace that were asked for, and every scope that is not optional.',
  nothing: 'Accept at least one scope, or refuse.',
  'no-workspace': 'Name one of the workspaces.',
} as const;

function noLongerOpen(): OAuthError {
  const description =
    'The challenge is unknown, used or expired: send the browser to /headless/continue with it, to begin the step again.';
  return new OAuthError('invalid_grant', description);
}

/** @param absent what stands for a member that is not there; there is none when it has to be */
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
  if (typeof remember !== 'number' || !Number.isSafeInteger(remember) || remember < 0) {
    throw new OAuthError('invalid_request', 'The member remember must be whole seconds.');
  }
  return Math.min(Math.max(remember, lifetimes.transaction), lifetimes.session);
}
