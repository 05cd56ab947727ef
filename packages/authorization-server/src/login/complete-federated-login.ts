/** Completes a federated login: resolves the account, starts a session, stores the provider tokens and resumes the login target. */
import type { ConnectionInfo, HttpRequest, HttpResponse } from '@portcullis/http';
import { OAuthError, type UserAuthentication } from '@portcullis/protocol';
import { continueTransaction } from '../authorization/continue-transaction.ts';
import type { ConsentDecision } from '../authorization/next-step.ts';
import type { PageContext } from '../authorization/page-context.ts';
import {
  type BrowserTransaction,
  type FoundTransaction,
  findTransaction,
} from '../authorization/transactions.ts';
import type { FederatedLoginResult } from '../federation/federation.ts';
import { isUserAllowed, readProfile } from '../federation/provider/federated-user.ts';
import { coveredScopes, type IdentityProvider } from '../federation/provider/identity-provider.ts';
import { resolveProvisionedUser, userNotAllowed } from '../federation/provisioned-users.ts';
import type { AccountRecord, FederatedLoginRecord } from '../store/index.ts';
import { accountPaths, readAccountSection } from '../ui/account-tabs.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import { federatedMethods, federatedSignInTime } from '../users/federated-authentication.ts';
import { saveProfile } from '../users/save-profile.ts';
import { claimsOfLimits } from '../users/scope-limits.ts';
import { providerSessionHash } from '../users/sessions.ts';
import { serializeClaimRules } from '../users/user-claims.ts';

/** An identity provider's response, in the browser that was sent there. */
export interface FederatedCallback {
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
  /** The path of its redirect URI. */
  readonly endpoint: string;
  readonly state: string;
  readonly identityProvider: IdentityProvider;
  readonly login: FederatedLoginRecord;
}

/** The transaction that the login was started for; `null`: an account page. */
export async function findWaitingTransaction(
  context: PageContext,
  { request, login }: FederatedCallback,
): Promise<FoundTransaction | null> {
  return login.transactionId === null ? null : findTransaction(context, request, login.transactionId);
}

/** Logs in the user whom the identity provider identified, and resumes the transaction or the account page. */
export async function completeFederatedLogin(
  context: PageContext,
  callback: FederatedCallback,
  result: FederatedLoginResult,
): Promise<HttpResponse> {
  const { events, sessions, federation } = context;
  const { request, connection, endpoint, login, identityProvider } = callback;
  let account: AccountRecord | null = null;
  let isGranted = false;
  try {
    account = await resolveAccount(context, result);
    if (account.disabledAt !== null) throw userNotAllowed('the account is disabled');
    await saveClaims(context, account.id, result);
    const transaction = await findWaitingTransaction(context, callback);
    if (transaction !== null && 'missing' in transaction)
      return context.errors.showMissing(endpoint, transaction);
    const authentication = authenticationOf(result, context.clock());
    const started = await sessions.start(request, connection, account, {
      methods: authentication.methods,
      authenticatedAt: authentication.time,
      providerSession: providerSessionOf(result),
    });
    if (started === null) throw userNotAllowed('the account is disabled');
    const { cookie } = started;
    events({
      type: 'login.succeeded',
      accountId: account.id,
      identityProvider: identityProvider.id,
      ...(transaction !== null && { transactionId: transaction.record.id }),
    });
    if (transaction === null)
      return respondRedirect(accountPaths[readAccountSection(login.returnTo)], [cookie]);
    const decision = await decisionOf(context, transaction, login, account, result);
    isGranted = true;
    const linkedGrantId = await federation.saveTokens(transaction.record.id, account.id, result);
    if (linkedGrantId === null) return context.errors.show('/callback', 'gone');
    const record = { ...transaction.record, accountId: account.id, linkedGrantId };
    return continueTransaction(
      context,
      { ...transaction, record, identityProvider, accountId: account.id, decision, authentication },
      [cookie],
    );
  } finally {
    // Tokens that no grant will use are revoked.
    if (!isGranted) await federation.discard(account?.id ?? null, result);
  }
}

/** No account is created for a user who is not allowed. @throws OAuthError `access_denied` */
function resolveAccount(
  { store, federation }: PageContext,
  { identityProvider, user }: FederatedLoginResult,
): Promise<AccountRecord> {
  if (!isUserAllowed(identityProvider.allowedUsers, user))
    throw userNotAllowed('not among the allowed users');
  return resolveProvisionedUser(store, identityProvider, user, () =>
    federation.linkedUsers.resolve(user, identityProvider),
  );
}

/**
 * At each login, so that claims follow the identity provider. The verified address is stored, since administrators name users by it;
 * other claims only if a resource, the approvers of calls or a decision point depend on them.
 */
async function saveClaims(
  context: PageContext,
  accountId: string,
  { user, identityProvider }: FederatedLoginResult,
): Promise<void> {
  const { options } = context;
  const isUnused =
    !options.approvals &&
    options.decideScopes === undefined &&
    Object.keys(options.decideScopesOf).length === 0 &&
    [...options.resources.values()].every(
      (resource) => serializeClaimRules(resource) === null && claimsOfLimits(resource).length === 0,
    );
  const profile = readProfile(user, identityProvider.userClaims);
  const saved = isUnused ? { email: profile.email, name: null, groups: [] } : profile;
  await saveProfile(context, accountId, saved, identityProvider.id);
}

/** The user may have signed in at the provider long before; without `auth_time`, its response is the sign-in. */
function authenticationOf({ user, identityProvider }: FederatedLoginResult, now: number): UserAuthentication {
  return {
    time: federatedSignInTime(user.claims, now) ?? now,
    methods: federatedMethods(user.claims, identityProvider.twoFactorValues),
  };
}

/** Stored only where the provider reports logouts. */
function providerSessionOf({ user, identityProvider }: FederatedLoginResult): string | undefined {
  const { sid } = user.claims;
  return identityProvider.backChannelLogout !== null && typeof sid === 'string'
    ? providerSessionHash(user.issuer, sid)
    : undefined;
}

/**
 * What the user allowed before the redirect, downscoped to what the provider granted. The decision belongs to the user who made
 * it: when another user logged in, or there is a workspace to pick, the consent page is shown again.
 */
async function decisionOf(
  context: PageContext,
  { record: transaction }: BrowserTransaction,
  { accountId, approvedScopes: approved, workspace }: FederatedLoginRecord,
  account: AccountRecord,
  { identityProvider, tokenResponse }: FederatedLoginResult,
): Promise<ConsentDecision | null> {
  if (accountId !== null && accountId !== account.id) return null;
  const [resource = ''] = transaction.resources;
  if (accountId === null && (await context.options.workspaces(account.id, resource)).length > 0) return null;
  const scopes = coveredScopes(identityProvider, approved, tokenResponse.scopes);
  if (scopes.length === 0 && approved.length > 0) {
    throw new OAuthError(
      'access_denied',
      'The identity provider was not granted what the requested scopes need.',
    );
  }
  return { scopes, workspace, source: 'user', isBeforeLogin: true };
}
