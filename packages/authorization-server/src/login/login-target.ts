/** The login target: where the browser goes after login, either an authorization transaction or an account page (return-to). */
import type { HttpRequest, HttpResponse } from '@portcullis/http';
import { acrOf, type Parameters, satisfiesAcr, TWO_FACTORS } from '@portcullis/protocol';
import { continueTransaction } from '../authorization/continue-transaction.ts';
import { denyConsent } from '../authorization/issue-code.ts';
import type { PageContext } from '../authorization/page-context.ts';
import { startFederatedLogin } from '../authorization/start-federated-login.ts';
import { findTransaction, pagePath, TRANSACTION_PARAMETER } from '../authorization/transactions.ts';
import { clientDisplayName } from '../display-name.ts';
import type { IdentityProvider } from '../federation/provider/identity-provider.ts';
import type { MissingTransaction } from '../http/error-pages.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import { accountPaths, loginPath, readAccountSection } from '../ui/account-tabs.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import { translate } from '../ui/translations.ts';
import type { User } from '../users/sessions.ts';
import { isAhead } from '../wrong-clock.ts';
import type { LoginPurpose } from './login-view.ts';
import { findPermittedUser } from './permitted-user.ts';

/** What this browser logs in for. */
export interface LoginTarget {
  /** The app that started the transaction, or the account page. */
  readonly purpose: LoginPurpose;
  /** `null`: an account page. */
  readonly transactionId: string | null;
  /** Hidden form fields from which the login target is found again. */
  readonly fields: Readonly<Record<string, string>>;
  /** What CSRF tokens are bound to. */
  readonly binding: readonly string[];
  /** Whether no login is needed. */
  readonly isSignedIn: boolean;
  /** The address of the session's user, who must log in again; `null`: any user may log in. */
  readonly email: string | null;
  /** Starts this login again. */
  readonly restartPath: string;
  /** `Set-Cookie` values that the login page must send. */
  readonly cookies: readonly string[];
  /** Continues for the user of the current session. */
  resume(): Promise<HttpResponse>;
  /** Continues for a user who has just logged in. @param cookies `Set-Cookie` values, among them the new session's */
  resumeAs(accountId: string, cookies: readonly string[]): Promise<HttpResponse>;
  /** Ends the transaction with `access_denied` for the client. An account page has nothing to cancel. */
  cancel(): Promise<HttpResponse>;
  /** Continues at an identity provider that the user chose. */
  startFederatedLogin(identityProvider: IdentityProvider): Promise<HttpResponse>;
}

export type FoundLoginTarget = LoginTarget | MissingTransaction;

/** Finds the login target in the query or form: a transaction (`flow`), or else an account page (`to`). */
export async function findLoginTarget(
  context: PageContext,
  request: HttpRequest,
  parameters: Parameters,
): Promise<FoundLoginTarget> {
  const transactionId = parameters.one(TRANSACTION_PARAMETER);
  return transactionId === undefined
    ? findAccountPageTarget(context, request, parameters)
    : findTransactionTarget(context, request, transactionId, parameters.one('again') !== undefined);
}

async function findTransactionTarget(
  context: PageContext,
  request: HttpRequest,
  id: string,
  again: boolean,
): Promise<FoundLoginTarget> {
  const transaction = await findTransaction(context, request, id);
  if ('missing' in transaction) return transaction;
  return {
    purpose: {
      appName: clientDisplayName(transaction.client, context.layout),
      serverName: serverNameOf(context, transaction.record.resources),
    },
    transactionId: id,
    fields: { [TRANSACTION_PARAMETER]: id },
    binding: transaction.csrfBinding,
    // With an identity provider, consent comes first and the login after it.
    isSignedIn: (transaction.accountId !== null || transaction.identityProvider !== null) && !again,
    email: null,
    restartPath: pagePath('login', id),
    cookies: [],
    resume: () => continueTransaction(context, transaction),
    cancel: () => denyConsent(context, transaction),
    async resumeAs(accountId, cookies) {
      await context.store.setTransactionAccount(id, accountId);
      return continueTransaction(context, { ...transaction, identityProvider: null, accountId }, cookies);
    },
    async startFederatedLogin(identityProvider) {
      await context.store.setTransactionIdentityProvider(id, identityProvider.id);
      return continueTransaction(context, { ...transaction, identityProvider, accountId: null });
    },
  };
}

function serverNameOf({ options, layout }: PageContext, [resource = '']: readonly string[]): string {
  const definition = options.resources.get(resource);
  return definition === undefined ? resource : translate(definition, layout.language).name;
}

/** Seconds after a login in which a user may change credentials without logging in again. */
const RECENT_LOGIN_SECONDS = 900;

export function isRecentLogin({ signedInAt }: User, now: number): boolean {
  return now - signedInAt < RECENT_LOGIN_SECONDS && !isAhead(signedInAt, now);
}

async function findAccountPageTarget(
  context: PageContext,
  request: HttpRequest,
  parameters: Parameters,
): Promise<FoundLoginTarget> {
  const { clock, options, browserCookies, sessions } = context;
  const [carried] = browserCookies.read(request);
  if (carried === undefined && request.method === 'POST') return { missing: 'no-cookie' };
  const cookie = carried ?? newSecret();
  const to = readAccountSection(parameters.one('to'));
  const isDelegated = to === 'console' || to === 'approvals';
  const user = isDelegated ? await findPermittedUser(context, request) : await sessions.find(request);
  const again = parameters.one('again') !== undefined;
  const path = loginPath(to, again);
  // The console misses the second factor of a session, however recent that is.
  const isEnough =
    user !== null &&
    (to === 'console'
      ? satisfiesAcr(acrOf({ methods: user.methods ?? [] }), [TWO_FACTORS])
      : isRecentLogin(user, clock()));
  return {
    purpose: {
      to: user === null || !again ? to : to === 'console' ? 'two-factors' : 'once-more',
    },
    transactionId: null,
    fields: again ? { to, again: 'yes' } : { to },
    binding: ['visit', hashSecret(cookie), user?.sessionHash ?? ''],
    isSignedIn: again ? isEnough : user !== null,
    email: again ? (user?.account.email ?? null) : null,
    restartPath: path,
    cookies:
      carried === undefined ? browserCookies.write(request, cookie, options.lifetimes.transaction) : [],
    resume: async () => respondRedirect(accountPaths[to]),
    cancel: async () => respondRedirect(path),
    resumeAs: async (_accountId, set) => respondRedirect(accountPaths[to], set),
    startFederatedLogin(identityProvider) {
      const loginTarget = {
        transactionId: null,
        returnTo: to,
        accountId: user?.account.id ?? null,
        approvedScopes: [],
        workspace: null,
        forceLogin: again,
        until: Number.MAX_SAFE_INTEGER,
      };
      return startFederatedLogin(context, identityProvider, loginTarget, {
        endpoint: `/login/${identityProvider.id}`,
        restartPath: path,
      });
    },
  };
}
