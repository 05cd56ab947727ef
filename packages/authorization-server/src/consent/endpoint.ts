/** The consent endpoint: GET shows exactly what will be granted, and only a POST with its CSRF token decides. */
import { type HttpRequest, type HttpResponse, queryOf } from '@portcullis/http';
import { type Parameters, type RedirectTarget, readParameters } from '@portcullis/protocol';
import { isSecondFactorMissing, unmetAuthentication } from '../authorization/check-request.ts';
import { continueTransaction, nothingGrantable } from '../authorization/continue-transaction.ts';
import { rejectRequest } from '../authorization/error-response.ts';
import { denyConsent } from '../authorization/issue-code.ts';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import {
  type BrowserTransaction,
  findTransaction,
  pagePath,
  TRANSACTION_PARAMETER,
} from '../authorization/transactions.ts';
import { upstreamScopesFor } from '../federation/provider/identity-provider.ts';
import type { Route } from '../http/router.ts';
import type { ErrorPage } from '../ui/error-pages.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { User } from '../users/sessions.ts';
import {
  type ConsentRequest,
  createConsentRequest,
  decideConsent,
  isNothingGrantable,
  serializeConsentRequest,
} from './consent-request.ts';
import { type ConsentPage, consentPage } from './consent-view.ts';
import { describeConsent } from './describe-consent.ts';
import type { ConsentOptions } from './options.ts';
import { chosenScopes } from './permission-groups.ts';

/** A consent request in its transaction. */
interface PendingConsent {
  readonly transaction: BrowserTransaction;
  /** `null`: the identity provider will identify the user afterwards. */
  readonly user: User | null;
  readonly consentRequest: ConsentRequest;
  /** Whether the user wants to pick another workspace. */
  readonly afresh: boolean;
}

export function createConsentRoutes(pages: PageRouter<ConsentOptions>): readonly Route[] {
  return [
    pages.route('GET', '/consent', async (context, request) => {
      const parameters = readParameters(queryOf(request));
      const transaction = await findTransaction(context, request, parameters.one(TRANSACTION_PARAMETER));
      if ('missing' in transaction) return context.errors.showMissing('/consent', transaction);
      if (!canAsk(transaction)) return continueTransaction(context, transaction);
      // Before the user decides in vain. At an identity provider the sign-in is still to come.
      const { record, authentication, identityProvider } = transaction;
      const unmet =
        identityProvider === null ? unmetAuthentication(context.options, record, authentication) : null;
      const rejected = { ...transaction, isSilent: false };
      if (unmet !== null) {
        const needsFactor = isSecondFactorMissing(record, authentication);
        return rejectRequest(context, rejected, transaction.user, unmet, needsFactor);
      }
      const pending = await loadPendingConsent(context, transaction, parameters);
      const { user, consentRequest } = pending;
      if (isNothingGrantable(transaction, consentRequest)) {
        const error = await nothingGrantable(context, transaction, user?.account.id ?? null);
        return rejectRequest(context, rejected, user, error);
      }
      return show(context, pending);
    }),

    pages.form('/consent', async ({ context, request, form }) => {
      const { csrfTokens, errors } = context;
      const transaction = await findTransaction(context, request, form.one(TRANSACTION_PARAMETER));
      if ('missing' in transaction) return errors.showMissing('/consent', transaction);
      // The CSRF token is bound to the session, so one user's decision never counts for another.
      const isOurs = csrfTokens.matches(form.one('token'), 'consent', ...transaction.csrfBinding);
      if (!canAsk(transaction) || !isOurs) return rejectDecision(context, transaction, 'stale-form');
      if (FIXED.some((name) => form.all(name).length > 0))
        return rejectDecision(context, transaction, 'bad-form');
      switch (form.one('decision')) {
        case 'allow':
          return allow(context, form, transaction);
        case 'deny':
          return denyConsent(context, transaction);
        case 'switch':
          return switchUser(context, request, transaction);
        default:
          return rejectDecision(context, transaction, 'bad-form');
      }
    }),
  ];
}

/** Whether a user can decide: signed in, or to be identified by the identity provider. */
function canAsk({ accountId, identityProvider }: BrowserTransaction): boolean {
  return accountId !== null || identityProvider !== null;
}

async function loadPendingConsent(
  context: PageContext<ConsentOptions>,
  transaction: BrowserTransaction,
  parameters: Parameters,
): Promise<PendingConsent> {
  const afresh = parameters.one('afresh') === 'yes';
  const consentRequest = await createConsentRequest(context, transaction, transaction.accountId, afresh);
  return {
    transaction,
    user: transaction.accountId === null ? null : transaction.user,
    consentRequest,
    afresh,
  };
}

/** Grants what the user chose, if it was offered and the page showed the current consent request. */
async function allow(
  context: PageContext<ConsentOptions>,
  parameters: Parameters,
  transaction: BrowserTransaction,
): Promise<HttpResponse> {
  const pending = await loadPendingConsent(context, transaction, parameters);
  const form = readForm(parameters);
  const scopes = chosenScopes(pending.consentRequest.scopes.requested, form);
  const decision = scopes === null ? 'foreign' : decideConsent(pending.consentRequest, { ...form, scopes });
  if (decision === 'foreign') return rejectDecision(context, transaction, 'bad-form');
  if (typeof decision === 'string') return show(context, pending, { error: decision, chosen: form });
  const seen = serializeConsentRequest(transaction, pending.consentRequest);
  if (!context.csrfTokens.matches(parameters.one('seen'), 'consent', ...transaction.csrfBinding, seen)) {
    return rejectDecision(context, transaction, 'stale-form');
  }
  return continueTransaction(context, { ...transaction, decision });
}

/** Another user wants to decide. */
async function switchUser(
  { store, sessions }: PageContext<ConsentOptions>,
  request: HttpRequest,
  { record, identityProvider }: BrowserTransaction,
): Promise<HttpResponse> {
  if (identityProvider !== null) await store.setTransactionIdentityProvider(record.id, null);
  return respondRedirect(`${pagePath('login', record.id)}&again=yes`, [await sessions.end(request)]);
}

function rejectDecision(
  { errors, layout }: PageContext<ConsentOptions>,
  { record }: BrowserTransaction,
  errorPage: ErrorPage,
): Promise<HttpResponse> {
  const action = { label: layout.text('consent.review-again'), href: pagePath('consent', record.id) };
  return errors.show('/consent', errorPage, { action });
}

/** @param before the error of the previous attempt, and what it chose: a scope that was switched off stays off */
function show(
  context: PageContext<ConsentOptions>,
  pending: PendingConsent,
  before: Pick<ConsentPage, 'error' | 'chosen'> = { error: null, chosen: null },
): Promise<HttpResponse> {
  const { csrfTokens, layout } = context;
  const { transaction, user, consentRequest, afresh } = pending;
  const { record, target, csrfBinding, identityProvider } = transaction;
  const page = consentPage(layout, {
    ...describeConsent(layout, transaction, consentRequest),
    account:
      user === null
        ? { provider: identityProvider?.name ?? '', hasOthers: hasOtherLoginMethods(context.options) }
        : { email: user.account.email },
    ...(identityProvider !== null && {
      identityProvider: {
        name: identityProvider.name,
        scopes: upstreamScopesFor(identityProvider, [
          ...consentRequest.scopes.requested.map(({ scope }) => scope),
          ...consentRequest.scopes.alreadyGranted,
        ]),
      },
    }),
    connections: context.connections.neededFor(consentRequest.resource.resource),
    ...before,
    now: context.clock(),
    othersPath: consentRequest.hasOthers ? `${pagePath('consent', record.id)}&afresh=yes` : null,
    fields: {
      flow: record.id,
      token: csrfTokens.issue('consent', ...csrfBinding),
      seen: csrfTokens.issue('consent', ...csrfBinding, serializeConsentRequest(transaction, consentRequest)),
      afresh: afresh ? 'yes' : null,
    },
  });
  return respondPage(page, {
    status: before.error === null ? 200 : 400,
    formAction: formActionSources(target),
  });
}

/** Whether the login page offers more than this identity provider. */
function hasOtherLoginMethods({ localAccounts, identityProviders }: PageContext['options']): boolean {
  return localAccounts || identityProviders.size > 1;
}

/** Parameters that are fixed in the transaction: our form has none of them, so a form with one is not ours. */
const FIXED = ['client_id', 'redirect_uri', 'resource', 'response_type', 'state', 'code_challenge'];

function readForm(parameters: Parameters): NonNullable<ConsentPage['chosen']> {
  return {
    scopes: parameters.all('scope'),
    groups: parameters.all('group'),
    workspace: parameters.one('workspace') ?? '',
  };
}

/**
 * Where the redirects after the form may lead, as sources of the CSP directive `form-action`. Chromium applies it to every
 * redirect after a form, also to those of the client, which only the client knows. So it lists the redirect URI, and any
 * place to which a redirect URI could lead.
 */
function formActionSources({ uri, kind }: RedirectTarget): readonly string[] {
  const target = new URL(uri);
  const anyClient = ['https:', 'http://localhost:*', 'http://127.0.0.1:*'];
  if (kind === 'private-use') return [target.protocol, ...anyClient];
  // A source cannot name an IPv6 address.
  return [target.hostname.startsWith('[') ? target.protocol : target.origin, ...anyClient];
}
