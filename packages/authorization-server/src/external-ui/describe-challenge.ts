/** What the application is told when it asks what a challenge is about: the same as our own pages would say. */
import { checkRedirectUri } from '@portcullis/protocol';
import type { AuthorizationTransaction } from '../authorization/transaction.ts';
import { type ConsentRequest, createConsentRequest } from '../consent/consent-request.ts';
import { findConsentWarning } from '../consent/consent-view.ts';
import { describeClient, describeConsent } from '../consent/describe-consent.ts';
import type { PageContext } from '../page-context.ts';
import type { AccountRecord } from '../store/index.ts';
import type { AccountSection } from '../ui/account-tabs.ts';
import { loginPath } from '../ui/account-tabs.ts';
import type { Challenge } from './challenges.ts';
import type { Members } from './signed-request.ts';

/** A consent that is asked for, as it stands now. */
export interface PendingConsent {
  readonly transaction: AuthorizationTransaction;
  readonly account: AccountRecord;
  readonly consentRequest: ConsentRequest;
}

/** The request of an app that a challenge belongs to, without its browser; `null` when it is no longer open. */
export async function loadTransaction(
  { store, clock, options, findClient }: PageContext,
  id: string,
): Promise<AuthorizationTransaction | null> {
  const transaction = await store.findTransaction(id, clock());
  if (transaction === null) return null;
  const client = await findClient(transaction.clientId, 'resume');
  if (client === null) return null;
  const { redirect_uris } = client.metadata;
  const target = checkRedirectUri(redirect_uris, transaction.redirectUri, options.redirects);
  return { record: transaction, client, target, identityProvider: null, accountId: null, decision: null };
}

/** `null` when nobody can answer it any more. */
export async function loadPendingConsent(
  context: PageContext,
  challenge: Challenge,
): Promise<PendingConsent | null> {
  const { store } = context;
  const transaction = await loadTransaction(context, challenge.loginTarget['flow'] ?? '');
  const account = challenge.accountId === null ? null : await store.findAccount(challenge.accountId);
  if (transaction === null || account === null || account.disabledAt !== null) return null;
  const afresh = challenge.loginTarget['afresh'] === 'yes';
  return {
    transaction,
    account,
    consentRequest: await createConsentRequest(context, transaction, account.id, afresh),
  };
}

/** @param transaction the app's request; `null` when somebody signs in for the pages of their own account */
export function describeLogin(
  { layout }: PageContext,
  challenge: Challenge,
  transaction: AuthorizationTransaction | null,
): Members {
  const { kind, until, language, isFresh, loginTarget } = challenge;
  return {
    kind,
    expires_at: until,
    language,
    fresh: isFresh,
    page: transaction === null ? (loginTarget['to'] ?? 'connections') : null,
    ...(transaction === null
      ? { app: null, return_to: null }
      : tellAsker(transaction, describeClient(layout, transaction))),
  };
}

export function describePendingConsent(
  { layout, options }: PageContext,
  { kind, until, language, loginTarget }: Challenge,
  { transaction, account, consentRequest }: PendingConsent,
): Members {
  const page = describeConsent(layout, transaction, consentRequest);
  const base = `${new URL(options.issuer).origin}/`;
  const at = (path: string) => new URL(path, base).href;
  const transactionId = encodeURIComponent(loginTarget['flow'] ?? '');
  return {
    kind,
    expires_at: until,
    language,
    account: { id: account.id, email: account.email },
    ...tellAsker(transaction, page),
    warning: findConsentWarning(page),
    server: {
      name: page.server.name,
      place: page.server.address,
      resource: consentRequest.resource.resource,
    },
    scopes: page.requested.map(({ scope, sentence, isNew, isOptional, includes }) => ({
      scope,
      sentence,
      new: isNew,
      optional: isOptional,
      includes,
    })),
    kept: page.alreadyGranted,
    known: page.isKnown,
    workspace: 'chosen' in page.workspace ? page.workspace.chosen : null,
    workspaces: 'choices' in page.workspace ? page.workspace.choices : [],
    other_workspaces_url: consentRequest.hasOthers ? at(`/consent?flow=${transactionId}&afresh=yes`) : null,
    other_account_url: at(`/login?flow=${transactionId}&again=yes`),
  };
}

/** Where the browser begins this step again, with a new challenge. */
export function restartPath({ kind, loginTarget }: Challenge): string {
  const { flow: transaction, to = 'connections', again } = loginTarget;
  if (transaction === undefined) return loginPath(to as AccountSection, again !== undefined);
  return `/${kind}?flow=${encodeURIComponent(transaction)}`;
}

type DescribedAsker = ReturnType<typeof describeClient>;

/** The app, and where it is called back. */
function tellAsker(
  { client }: AuthorizationTransaction,
  { appName, verifiedBy: vouchedBy, returnTo, redirectsElsewhere: isElsewhere }: DescribedAsker,
) {
  const isHost = typeof vouchedBy === 'object';
  return {
    app: {
      client_id: client.id,
      name: appName,
      verified_by: isHost ? 'host' : vouchedBy,
      host: isHost ? vouchedBy.host : null,
    },
    return_to: { kind: returnTo.kind, display: returnTo.display, elsewhere: isElsewhere },
  };
}
