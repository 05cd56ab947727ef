/** Describes a challenge to the external UI: the same facts as our own pages show. */
import {
  type AuthorizationTransaction,
  loadTransaction,
  pagePath,
  TRANSACTION_PARAMETER,
} from '../authorization/transactions.ts';
import {
  type ConsentRequest,
  createConsentRequest,
  serializeConsentRequest,
} from '../consent/consent-request.ts';
import { findConsentWarning } from '../consent/consent-view.ts';
import { describeClient, describeConsent } from '../consent/describe-consent.ts';
import type { PageContext } from '../page-context.ts';
import { hashSecret } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';
import { type AccountSection, loginPath } from '../ui/account-tabs.ts';
import type { ExternalUiChallenge } from './challenges.ts';
import type { Members } from './signed-request.ts';

/** The consent request of a challenge, as it is now. */
export interface ChallengedConsent {
  readonly transaction: AuthorizationTransaction;
  readonly account: AccountRecord;
  readonly consentRequest: ConsentRequest;
}

/** `null` when it can no longer be answered. */
export async function loadChallengedConsent(
  context: PageContext,
  challenge: ExternalUiChallenge,
): Promise<ChallengedConsent | null> {
  const { store } = context;
  const transaction = await loadTransaction(context, challenge.loginTarget[TRANSACTION_PARAMETER] ?? '');
  const account = challenge.accountId === null ? null : await store.findAccount(challenge.accountId);
  if (transaction === null || account === null || account.disabledAt !== null) return null;
  const afresh = asksAfresh(challenge);
  const consentRequest = await createConsentRequest(context, transaction, account.id, afresh);
  return { transaction, account, consentRequest };
}

/** Whether the user wants to choose among all workspaces again. */
export function asksAfresh({ loginTarget }: ExternalUiChallenge): boolean {
  return loginTarget['afresh'] === 'yes';
}

/** Whether a consent request is still the one of a challenge. */
export function isUnchanged(request: ConsentRequest, { consentRequest }: ExternalUiChallenge): boolean {
  return hashSecret(serializeConsentRequest(request)) === consentRequest;
}

/** @param transaction `null`: the user logs in for an account page */
export function describeLogin(
  { layout }: PageContext,
  challenge: ExternalUiChallenge,
  transaction: AuthorizationTransaction | null,
): Members {
  const { kind, until, language, requiresFreshLogin, loginTarget } = challenge;
  return {
    kind,
    expires_at: until,
    language,
    fresh: requiresFreshLogin,
    ...(transaction === null
      ? { page: loginTarget['to'] ?? 'connections', app: null, return_to: null }
      : { page: null, ...describeClientRequest(transaction, describeClient(layout, transaction)) }),
  };
}

export function describeChallengedConsent(
  { layout, options }: PageContext,
  { kind, until, language, loginTarget }: ExternalUiChallenge,
  { transaction, account, consentRequest }: ChallengedConsent,
): Members {
  const page = describeConsent(layout, transaction, consentRequest);
  const urlOf = (page: 'consent' | 'login') =>
    new URL(pagePath(page, loginTarget[TRANSACTION_PARAMETER] ?? ''), options.issuer).href;
  return {
    kind,
    expires_at: until,
    language,
    account: { id: account.id, email: account.email },
    ...describeClientRequest(transaction, page),
    warning: findConsentWarning(page),
    server: {
      name: page.server.name,
      place: page.server.address,
      resource: consentRequest.resource.resource,
    },
    scopes: page.requested.map(
      ({ scope, sentence, isNew, isExtra, isOptional, includes, access, isOffByDefault }) => ({
        scope,
        sentence,
        new: isNew,
        extra: isExtra,
        optional: isOptional,
        includes,
        access,
        off_by_default: isOffByDefault,
      }),
    ),
    kept: page.alreadyGranted,
    ...(page.sharedClaims.length > 0 && { shared_claims: page.sharedClaims }),
    known: page.isKnown,
    workspace: 'chosen' in page.workspace ? page.workspace.chosen : null,
    workspaces: 'choices' in page.workspace ? page.workspace.choices : [],
    other_workspaces_url: consentRequest.hasOthers ? `${urlOf('consent')}&afresh=yes` : null,
    other_account_url: `${urlOf('login')}&again=yes`,
  };
}

/** Starts this step again, with a new challenge. */
export function restartPath({ kind, loginTarget }: ExternalUiChallenge): string {
  const { [TRANSACTION_PARAMETER]: transactionId, to = 'connections', again } = loginTarget;
  if (transactionId === undefined) return loginPath(to as AccountSection, again !== undefined);
  return pagePath(kind, transactionId);
}

/** The client, and its redirect URI. */
function describeClientRequest(
  { client }: AuthorizationTransaction,
  { appName, verifiedBy, returnTo, redirectsElsewhere }: ReturnType<typeof describeClient>,
) {
  const isHost = typeof verifiedBy === 'object';
  return {
    app: {
      client_id: client.id,
      name: appName,
      verified_by: isHost ? 'host' : verifiedBy === 'unverified' ? 'nobody' : verifiedBy,
      host: isHost ? verifiedBy.host : null,
    },
    return_to: { kind: returnTo.kind, display: returnTo.display, elsewhere: redirectsElsewhere },
  };
}
