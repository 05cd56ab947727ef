/**
 * Requests for a link by mail, on the sign-in page: "Forgot your password?", and a sign-in without one. Response, work and rate
 * limits are the same for every address, so that accounts cannot be enumerated.
 */
import type { HttpResponse } from '@portcullis/http';
import type { AuthorizationEvent } from '../audit/events.ts';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import { loginFormRoute, loginPageRoute } from '../login/login-routes.ts';
import type { LoginTarget } from '../login/login-target.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { siteOf } from '../rate-limit/policies.ts';
import type { AccountRecord } from '../store/index.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage } from '../ui/respond-page.ts';
import { emailKey } from '../users/accounts.ts';
import { type LinkPurpose, linkRequestPage } from './link-request-view.ts';
import { requesterHash } from './sign-in-links.ts';

export function createLinkRequestRoutes(pages: PageRouter, purpose: LinkPurpose): readonly Route[] {
  const { store, events, csrfTokens } = pages;
  const path = `/login/${purpose}`;
  const chargeAddress = createRateLimitCheck(pages, 'linkRequests');
  const chargeSite = createRateLimitCheck(pages, 'linkRequestsOfSite');

  const show = (
    { layout }: PageContext,
    loginTarget: LoginTarget,
    email: string,
    error: string | null = null,
  ): Promise<HttpResponse> => {
    const { fields, binding, restartPath, cookies } = loginTarget;
    const token = csrfTokens.issue('login', ...binding);
    const page = linkRequestPage(layout, { purpose, fields, token, email, error, restartPath });
    return respondPage(page, { status: error === null ? 200 : 400, cookies });
  };

  const describeRequest = (
    account: AccountRecord,
    { layout: { language } }: PageContext,
    loginTarget: LoginTarget,
  ): AuthorizationEvent => {
    const { id: accountId } = account;
    const { fields, transactionId } = loginTarget;
    return purpose === 'forgotten'
      ? { type: 'account.reset_requested', accountId, language }
      : {
          type: 'account.sign_in_link_requested',
          ...{ accountId, language },
          ...(transactionId !== null && { transactionId }),
          loginTarget: fields,
          browser: requesterHash(loginTarget, account),
        };
  };

  return [
    loginPageRoute(pages, path, (context, loginTarget) => show(context, loginTarget, '')),

    loginFormRoute(pages, path, async ({ context, connection, loginTarget, form }) => {
      const { layout } = context;
      const email = form.one('email') ?? '';
      const key = emailKey(email);
      if (key === null) return show(context, loginTarget, email, layout.text('setup.error.email'));
      await chargeSite(siteOf(connection) ?? 'unknown');
      await chargeAddress(key);
      // The mail is sent later, by the audit log: nothing here depends on the account but which event is recorded.
      const account = await store.findAccountByEmail(key);
      if (account === null) events({ type: 'account.link_refused', reason: 'unknown' });
      else if (account.disabledAt !== null)
        events({ type: 'account.link_refused', accountId: account.id, reason: 'disabled' });
      else events(describeRequest(account, context, loginTarget));
      return respondPage(
        messagePage(layout, {
          heading: layout.text('forgotten.sent'),
          sentences: [
            layout.text(purpose === 'link' ? 'sign-in.link-sent' : 'forgotten.sent-what'),
            layout.text('forgotten.sent-else'),
          ],
          action: { label: layout.text('forgotten.back'), href: loginTarget.restartPath },
        }),
      );
    }),
  ];
}
