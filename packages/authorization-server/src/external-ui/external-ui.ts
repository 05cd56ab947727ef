/** External UI, off by default: an application of the operator shows the login page, the consent page, or both. */
import { type HttpRequest, type HttpResponse, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import { serializeConsentRequest } from '../consent/consent-request.ts';
import type { RedirectToConsent } from '../consent/endpoint.ts';
import type { Route } from '../http/router.ts';
import { findLoginTarget } from '../login/login-target.ts';
import type { PageContext, PageRouter } from '../page-context.ts';
import { hashSecret } from '../secrets.ts';
import { loginPath } from '../ui/account-tabs.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { Language } from '../ui/texts/languages.ts';
import { createExternalUiApi } from './api.ts';
import { createExternalUiMessages, digestOf, type ExternalUiMessages } from './challenges.ts';
import { createContinueRoute } from './continue.ts';
import type { ExternalUiRules } from './options.ts';

export interface ExternalUi {
  /** The API of the application, and the way back from it. */
  readonly routes: readonly Route[];
  /** In place of the login pages; `null`: this server shows them. */
  readonly loginRoutes: readonly Route[] | null;
  /** In place of the consent page; `null`: this server shows it. */
  readonly redirectToConsent: RedirectToConsent | null;
}

export function createExternalUi(
  pages: PageRouter,
  rules: ExternalUiRules,
  contextIn: (language: Language) => PageContext,
): ExternalUi {
  const { loginUrl, consentUrl } = rules;
  const messages = createExternalUiMessages(pages);
  return {
    routes: [createContinueRoute(pages, messages), ...createExternalUiApi(pages, rules, messages, contextIn)],
    loginRoutes: loginUrl === null ? null : createExternalLoginRoutes(pages, messages, loginUrl),
    redirectToConsent: consentUrl === null ? null : createRedirectToConsent(messages, consentUrl),
  };
}

const LOCAL_LOGIN_PATHS = ['/setup', '/invitation', '/reset'];

/** Login happens in the application; pages that only local accounts need redirect there. */
function createExternalLoginRoutes(
  pages: PageRouter,
  { challenges }: ExternalUiMessages,
  loginUrl: string,
): readonly Route[] {
  const logIn = async (context: PageContext, request: HttpRequest): Promise<HttpResponse> => {
    const loginTarget = await findLoginTarget(context, request, readParameters(queryOf(request)));
    if ('missing' in loginTarget) return context.errors.showMissing('/login', loginTarget);
    if (loginTarget.isSignedIn) return loginTarget.resume();
    const challenge = challenges.encrypt({
      kind: 'login',
      loginTarget: loginTarget.fields,
      csrfBinding: digestOf(loginTarget.binding),
      language: context.layout.language,
      requiresFreshLogin: loginTarget.requiresFreshLogin,
      accountId: null,
      consentRequest: null,
    });
    return respondRedirect(withChallenge(loginUrl, challenge), loginTarget.cookies);
  };
  return [
    pages.route('GET', '/login', logIn),
    ...LOCAL_LOGIN_PATHS.map((path) =>
      pages.route('GET', path, async () => respondRedirect(loginPath('connections'))),
    ),
  ];
}

function createRedirectToConsent({ challenges }: ExternalUiMessages, consentUrl: string): RedirectToConsent {
  return ({ layout }, { transaction, accountId, consentRequest, afresh }) => {
    const challenge = challenges.encrypt({
      kind: 'consent',
      loginTarget: { flow: transaction.record.id, ...(afresh && { afresh: 'yes' }) },
      csrfBinding: digestOf(transaction.csrfBinding),
      language: layout.language,
      requiresFreshLogin: false,
      accountId,
      consentRequest: hashSecret(serializeConsentRequest(consentRequest)),
    });
    return respondRedirect(withChallenge(consentUrl, challenge));
  };
}

function withChallenge(page: string, challenge: string): string {
  const url = new URL(page);
  url.searchParams.set('challenge', challenge);
  return url.href;
}
