/**
 * Requests for a link by mail, on the sign-in page: "Forgot your password?", and a sign-in without one. Response, work and rate
 * limits are the same for every address, so that accounts cannot be enumerated.
 */
import { type HttpResponse, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { AuthorizationEvent } from '../audit/events.ts';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import { readLoginForm } from '../login/login-form.ts';
import { findLoginTarget, type LoginTarget } from '../login/login-target.ts';
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
    pages.route('GET', path, async (context, request) => {
      const loginTarget = await findLoginTarget(context, request, readParameters(queryOf(request)));
      if ('missing' in loginTarget) return context.errors.showMissing('/login', loginTarget);
      return show(context, loginTarget, '');
    }),

    pages.route('POST', path, async (context, request, connection) => {
      const { layout } = context;
      const found = await readLoginForm(context, request, path);
      if ('rejection' in found) return found.rejection;
      const { form, loginTarget } = found;
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
