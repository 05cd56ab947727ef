/** Consent as a step of a flow: the person sees exactly what will be granted, and only a posted answer decides. */
import { type HttpRequest, type HttpResponse, queryOf, readFormBody } from '@portcullis/http';
import { type Parameters, type RedirectTarget, readParameters } from '@portcullis/protocol';
import { advance, denyConsent, pagePath } from '../authorization/issue-code.ts';
import type { BrowserTransaction } from '../authorization/transaction.ts';
import { findTransaction } from '../authorization/transactions.ts';
import { upstreamScopesFor } from '../federation/identity-provider.ts';
import { isCrossSiteForm } from '../http/csrf.ts';
import type { Route } from '../http/router.ts';
import type { ServerOptions } from '../options.ts';
import type { PageContext } from '../page-context.ts';
import type { ErrorPage } from '../ui/error-pages.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { User } from '../users/sessions.ts';
import { type ConsentRequest, createConsentRequest, serializeConsentRequest } from './consent-request.ts';
import { type ConsentPage, consentPage } from './consent-view.ts';
import { type ConsentChoice, decideConsent } from './decision.ts';
import { describeConsent } from './describe-consent.ts';

/** What the person was asked, and in which flow. */
interface Matter {
  readonly transaction: BrowserTransaction;
  /** `null`: whom a third party will name afterwards. */
  readonly user: User | null;
  readonly consentRequest: ConsentRequest;
  /** Whether they look for another workspace. */
  readonly afresh: boolean;
}

export function createConsent(context: PageContext): readonly Route[] {
  const { options, errors, csrfTokens, layout, externalUi: handOver } = context;
  return [
    errors.route('GET', '/consent', async (request) => {
      const parameters = readParameters(queryOf(request));
      const transaction = await findTransaction(context, request, parameters);
      if ('missing' in transaction) return errors.refuse('/consent', transaction.missing);
      if (!canAsk(transaction)) return advance(context, transaction);
      const matter = await consider(context, transaction, parameters);
      if (transaction.identityProvider !== null || matter.user === null) return show(context, matter);
      const asked = { ...matter, accountId: matter.user.account.id };
      return handOver.redirectToConsent(asked, layout.language) ?? show(context, matter);
    }),

    errors.route('POST', '/consent', async (request) => {
      const form = await readFormBody(request);
      const transaction = await findTransaction(context, request, form);
      if ('missing' in transaction) return errors.refuse('/consent', transaction.missing);
      // The token is bound to the session, so an answer of one person is never taken for another's.
      const isOurs = csrfTokens.matches(form.one('token'), 'consent', ...transaction.csrfBinding);
      if (!canAsk(transaction) || !isOurs || isCrossSiteForm(request, options.issuer)) {
        return refuse(context, transaction, 'stale-form');
      }
      if (FIXED.some((name) => form.all(name).length > 0)) return refuse(context, transaction, 'bad-form');
      switch (form.one('decision')) {
        case 'allow':
          return allow(context, form, transaction);
        case 'deny':
          return denyConsent(context, transaction);
        case 'switch':
          return signInAgain(context, request, transaction);
        default:
          return refuse(context, transaction, 'bad-form');
      }
    }),
  ];
}

/** Whether there is somebody to ask: who is signed in, or whom a third party will name. */
function canAsk({ accountId: subject, identityProvider }: BrowserTransaction): boolean {
  return subject !== null || identityProvider !== null;
}

async function consider(
  context: PageContext,
  transaction: BrowserTransaction,
  parameters: Parameters,
): Promise<Matter> {
  const afresh = parameters.one('afresh') === 'yes';
  const consentRequest = await createConsentRequest(context, transaction, transaction.accountId, afresh);
  return {
    transaction,
    user: transaction.accountId === null ? null : transaction.user,
    consentRequest,
    afresh,
  };
}

/** Grants what was chosen, if it was asked for and the page showed what is asked for now. */
async function allow(
  context: PageContext,
  form: Parameters,
  transaction: BrowserTransaction,
): Promise<HttpResponse> {
  const matter = await consider(context, transaction, form);
  const choice = readChoice(form);
  const decision = decideConsent(matter.consentRequest, choice);
  if (decision === 'foreign') return refuse(context, transaction, 'bad-form');
  if (typeof decision === 'string') return show(context, matter, { error: decision, chosen: choice });
  const seen = serializeConsentRequest(matter.consentRequest);
  if (!context.csrfTokens.matches(form.one('seen'), 'consent', ...transaction.csrfBinding, seen)) {
    return refuse(context, transaction, 'stale-form');
  }
  return advance(context, { ...transaction, decision });
}

/** Somebody else is to answer. */
async function signInAgain(
  { store, sessions }: PageContext,
  request: HttpRequest,
  { record: transaction, identityProvider }: BrowserTransaction,
): Promise<HttpResponse> {
  if (identityProvider !== null) await store.setTransactionIdentityProvider(transaction.id, null);
  return respondRedirect(`${pagePath('login', transaction.id)}&again=yes`, [await sessions.end(request)]);
}

function refuse(
  { errors, layout }: PageContext,
  { record: transaction }: BrowserTransaction,
  errorPage: ErrorPage,
): Promise<HttpResponse> {
  const action = { label: layout.text('consent.review-again'), href: pagePath('consent', transaction.id) };
  return errors.refuse('/consent', errorPage, { action });
}

/** @param before what was wrong with the answer before, and what it chose: nothing that was switched off comes back on by itself */
function show(
  context: PageContext,
  matter: Matter,
  before: Pick<ConsentPage, 'error' | 'chosen'> = { error: null, chosen: null },
): Promise<HttpResponse> {
  const { csrfTokens, layout } = context;
  const { transaction, user, consentRequest, afresh } = matter;
  const { record, target, csrfBinding: bound, identityProvider } = transaction;
  const page = consentPage(layout, {
    ...describeConsent(layout, transaction, consentRequest),
    account:
      user === null
        ? { provider: identityProvider?.name ?? '', hasOthers: hasOtherWays(context.options) }
        : { email: user.account.email },
    ...(identityProvider !== null && {
      identityProvider: {
        name: identityProvider.name,
        scopes: upstreamScopesFor(identityProvider, [
          ...consentRequest.question.asked.map(({ scope }) => scope),
          ...consentRequest.question.kept,
        ]),
      },
    }),
    ...before,
    othersPath: consentRequest.hasOthers ? `${pagePath('consent', record.id)}&afresh=yes` : null,
    fields: {
      flow: record.id,
      token: csrfTokens.issue('consent', ...bound),
      seen: csrfTokens.issue('consent', ...bound, serializeConsentRequest(consentRequest)),
      afresh: afresh ? 'yes' : null,
    },
  });
  return respondPage(page, { status: before.error === null ? 200 : 400, formAction: onwardSources(target) });
}

/** Whether the page to sign in offers more than one third party. */
function hasOtherWays({ localAccounts, identityProviders }: ServerOptions): boolean {
  return localAccounts || identityProviders.size > 1;
}

/** Parameters of the request: they are fixed in the transaction, so a form that carries one was made by somebody else. */
const FIXED = ['client_id', 'redirect_uri', 'resource', 'response_type', 'state', 'code_challenge'];

function readChoice(form: Parameters): ConsentChoice {
  return { scopes: form.all('scope'), workspace: form.one('workspace') ?? '' };
}

/**
 * Where the answer's redirects may lead, as sources of `form-action`. Chromium holds every redirect that follows a form to
 * that directive, the client's own further ones too; where those lead, only the client knows. So the target itself is
 * named, and beside it any place to which a redirect URI could lead.
 */
function onwardSources({ uri, kind }: RedirectTarget): readonly string[] {
  const target = new URL(uri);
  const onward = ['https:', 'http://localhost:*', 'http://127.0.0.1:*'];
  if (kind === 'private-use') return [target.protocol, ...onward];
  // A source cannot name an IPv6 address.
  return [target.hostname.startsWith('[') ? target.protocol : target.origin, ...onward];
}
