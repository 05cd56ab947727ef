/** The interface of the operator's application: it asks what a challenge is about, and accepts or refuses. */
import { type HttpResponse, respondJson } from '@portcullis/http';
import { OAuthError, type Scopes } from '@portcullis/protocol';
import { fingerprint } from '../authorize/deliberation.ts';
import { readApproval } from '../authorize/read-approval.ts';
import type { Rooms } from '../authorize/rooms.ts';
import type { Configuration } from '../configuration.ts';
import type { Route } from '../routes.ts';
import { hashSecret } from '../secrets.ts';
import type { Language } from '../ui/texts/languages.ts';
import {
  type AskedConsent,
  describeAskedConsent,
  describeLogin,
  loadAskedConsent,
  loadFlow,
} from './describe-challenge.ts';
import { findAccount, findOrMakeAccount } from './find-account.ts';
import type { HeadlessRules } from './headless-options.ts';
import { createSignedRequests, type Members } from './signed-request.ts';
import type { Challenge, Decision, Tickets } from './tickets.ts';

/**
 * Its answers change nothing by themselves: what was accepted takes effect in the browser that began, and in no other.
 * @param roomsIn the rooms that speak a language
 */
export function createHeadlessEndpoints(
  configuration: Configuration,
  rules: HeadlessRules,
  tickets: Tickets,
  roomsIn: (language: Language) => Rooms,
): readonly Route[] {
  const signed = createSignedRequests(configuration, rules);
  const continuePath = `${new URL(configuration.issuer).origin}/headless/continue`;

  const readChallenge = (members: Members): Challenge => {
    const challenge = tickets.openChallenge(readText(members, 'challenge'));
    if (challenge === null) throw noLongerOpen();
    return challenge;
  };
  const conclude = async (challenge: Challenge, decision: Decision): Promise<HttpResponse> => {
    // Point of no return: a challenge is answered once.
    if (!(await tickets.spendChallenge(challenge))) throw noLongerOpen();
    return respondJson({ continue: `${continuePath}?answer=${tickets.sealAnswer(challenge, decision)}` });
  };
  const route = (path: string, handle: (members: Members) => Promise<HttpResponse>): Route => ({
    method: 'POST',
    path,
    handle: async (request) => handle(await signed.read(request)),
  });

  return [
    route('/headless/ask', async (members) => {
      const challenge = readChallenge(members);
      const rooms = roomsIn(challenge.language);
      if (challenge.kind === 'consent') {
        return respondJson(describeAskedConsent(rooms, challenge, await loadAsked(rooms, challenge)));
      }
      return respondJson(describeLogin(rooms, challenge, await loadOpenFlow(rooms, challenge)));
    }),

    route('/headless/accept', async (members) => {
      const challenge = readChallenge(members);
      const rooms = roomsIn(challenge.language);
      if (challenge.kind === 'consent') {
        const choice = { scopes: readScopeList(members), workspace: readText(members, 'workspace', '') };
        checkChoice(await loadAsked(rooms, challenge), readText(members, 'account'), choice);
        return conclude(challenge, { kind: 'consent', ...choice });
      }
      await loadOpenFlow(rooms, challenge);
      const seconds = readSeconds(members, configuration);
      const account = await findOrMakeAccount(configuration, rules, readText(members, 'email'));
      return conclude(challenge, { kind: 'login', accountId: account.id, seconds });
    }),

    route('/headless/sign-out', async (members) => {
      const account = await findAccount(configuration, readText(members, 'email'));
      const count = account === null ? 0 : await configuration.store.endSessions(account.id, null);
      if (account !== null) configuration.events({ type: 'session.ended', accountId: account.id, count });
      return respondJson({ ended: count });
    }),

    route('/headless/refuse', (members) => conclude(readChallenge(members), { kind: 'refused' })),
  ];
}

/** The consent as it stands, if it is still what the challenge was made for. */
async function loadAsked(rooms: Rooms, challenge: Challenge): Promise<AskedConsent> {
  const matter = await loadAskedConsent(rooms, challenge);
  if (matter === null || hashSecret(fingerprint(matter.deliberation)) !== challenge.question)
    throw noLongerOpen();
  return matter;
}

/** The request of the app that somebody signs in for; `null` when they come on their own account. */
async function loadOpenFlow(rooms: Rooms, { loginTarget }: Challenge): ReturnType<typeof loadFlow> {
  if (loginTarget['flow'] === undefined) return null;
  const flow = await loadFlow(rooms, loginTarget['flow']);
  if (flow === null) throw noLongerOpen();
  return flow;
}

/** Consent fixation: what one person was asked is not for another to allow, whoever is signed in at the application. */
function checkChoice(
  { account, deliberation }: AskedConsent,
  accountId: string,
  choice: { readonly scopes: Scopes; readonly workspace: string },
): void {
  if (accountId !== account.id) {
    const description = 'The account is not the one that is asked: let the person sign in again.';
    throw new OAuthError('access_denied', description);
  }
  const read = readApproval(deliberation, choice);
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
function readSeconds({ remember = 0 }: Members, { lifetimes }: Configuration): number {
  if (typeof remember !== 'number' || !Number.isSafeInteger(remember) || remember < 0) {
    throw new OAuthError('invalid_request', 'The member remember must be whole seconds.');
  }
  return Math.min(Math.max(remember, lifetimes.transaction), lifetimes.session);
}
