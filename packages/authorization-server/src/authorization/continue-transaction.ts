/** Continues an authorization transaction: redirects to the next page, identity provider or account, or issues the code. */
import { type HttpResponse, withCookies } from '@portcullis/http';
import { missingScopes, type OAuthError, type Scopes } from '@portcullis/protocol';
import type { IdentityProvider } from '../federation/provider/identity-provider.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import { findScopeLimit, limitByClient, notGrantable, UNLIMITED } from '../users/scope-limits.ts';
import { issueCode, rejectTransaction } from './issue-code.ts';
import { type ConsentDecision, nextStep } from './next-step.ts';
import type { PageContext } from './page-context.ts';
import { startFederatedLogin } from './start-federated-login.ts';
import { type AuthorizationTransaction, pagePath } from './transactions.ts';

/** @param cookies `Set-Cookie` values that the response must carry */
export async function continueTransaction(
  context: PageContext,
  transaction: AuthorizationTransaction,
  cookies: readonly string[] = [],
): Promise<HttpResponse> {
  const { record, decision, identityProvider } = transaction;
  const accountId =
    identityProvider === null
      ? transaction.accountId
      : await identifiedAccount(context, transaction, identityProvider);
  const login = identityProvider === null ? 'local' : 'federated';
  const step = nextStep({ accountId, decision }, login);
  if ('show' in step) return respondRedirect(pagePath(step.show, record.id), cookies);
  if ('startFederatedLogin' in step) {
    return redirectToProvider(context, transaction, step.startFederatedLogin.decision, cookies);
  }
  // A remembered consent was limited when it was found.
  const issue =
    step.issueCode.decision.source === 'remembered'
      ? step.issueCode
      : await limitDecision(context, transaction, step.issueCode);
  if (issue === null) {
    const { accountId: user, decision: decided } = step.issueCode;
    const error = await nothingGrantable(context, transaction, user, decided.scopes);
    return withCookies(await rejectTransaction(context, transaction, error), cookies);
  }
  const { decision: decided } = step.issueCode;
  // The consent page offered more than this user may allow: now it says so.
  if (decided.isBeforeLogin && missingScopes(decided.scopes, issue.decision.scopes).length > 0)
    return respondRedirect(pagePath('consent', record.id), cookies);
  const linkedGrantId = identityProvider === null ? null : record.linkedGrantId;
  const prepared = await context.connections.prepareGrant({ ...issue, record, linkedGrantId }, cookies);
  if (!('grantId' in prepared)) return prepared;
  return withCookies(await issueCode(context, transaction, { ...issue, ...prepared }), cookies);
}

/** The error for a user who can grant nothing of what was asked for. @param decided what the user decided to grant */
export async function nothingGrantable(
  context: Pick<PageContext, 'store' | 'options'>,
  { record, client }: Pick<AuthorizationTransaction, 'record' | 'client'>,
  accountId: string | null,
  decided: Scopes = [],
): Promise<OAuthError> {
  const resource = context.options.resources.get(record.resources[0] ?? '');
  const scopes = [...decided, ...record.scopes];
  if (resource === undefined) return notGrantable('user', UNLIMITED, scopes);
  const limit =
    accountId === null
      ? limitByClient(resource, client.id)
      : await findScopeLimit(context, resource, { clientId: client.id, accountId }, scopes);
  return notGrantable('user', limit, scopes);
}

interface Decided {
  readonly accountId: string;
  readonly decision: ConsentDecision;
}

/** An identity provider names the user, and the user's groups, only after the consent. `null`: nothing of what was asked for, or of
 * the decision, can be granted. */
async function limitDecision(
  context: PageContext,
  { record, client }: AuthorizationTransaction,
  { accountId, decision }: Decided,
): Promise<Decided | null> {
  const resource = context.options.resources.get(record.resources[0] ?? '');
  if (resource === undefined) return { accountId, decision };
  const recipient = { clientId: client.id, accountId };
  const limit = await findScopeLimit(context, resource, recipient, [...decision.scopes, ...record.scopes]);
  const scopes = limit.grantable(decision.scopes);
  const isNothingLeft = [record.scopes, decision.scopes].some(
    (asked) => asked.length > 0 && limit.grantable(asked).length === 0,
  );
  return isNothingLeft ? null : { accountId, decision: { ...decision, scopes } };
}

/** With an identity provider, only an account counts for which this very transaction received provider tokens. */
async function identifiedAccount(
  { federation }: PageContext,
  { record, accountId }: AuthorizationTransaction,
  identityProvider: IdentityProvider,
): Promise<string | null> {
  return (await federation.hasTokens(record.linkedGrantId, identityProvider, accountId)) ? accountId : null;
}

/** Redirects to the identity provider, and stores the user's decision until the callback. */
async function redirectToProvider(
  context: PageContext,
  { record, identityProvider, accountId }: AuthorizationTransaction,
  { scopes, workspace }: ConsentDecision,
  cookies: readonly string[],
): Promise<HttpResponse> {
  if (identityProvider === null) throw new Error('the transaction has no identity provider');
  const loginRequest = {
    transactionId: record.id,
    returnTo: null,
    accountId,
    approvedScopes: scopes,
    workspace,
    forceLogin: record.forceLogin,
    until: record.expiresAt,
  };
  const restartPath = pagePath('consent', record.id);
  return startFederatedLogin(context, identityProvider, loginRequest, {
    endpoint: '/consent',
    restartPath,
    cookies,
  });
}
