/**
 * "Forgot your password?": takes an address, and requests a mail with a reset link. Response, work and rate limits are the same for
 * every address, so that accounts cannot be enumerated.
 */
import { type HttpResponse, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
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
import { resetRequestPage } from './reset-request-view.ts';

const PATH = '/login/forgotten';

export function createResetRequestRoutes(pages: PageRouter): readonly Route[] {
  const { store, events, csrfTokens } = pages;
  const chargeAddress = createRateLimitCheck(pages, 'resetRequests');
  const chargeSite = createRateLimitCheck(pages, 'resetRequestsOfSite');

  const show = (
    { layout }: PageContext,
    loginTarget: LoginTarget,
    email: string,
    error: string | null = null,
  ): Promise<HttpResponse> => {
    const { fields, binding, restartPath, cookies } = loginTarget;
    const token = csrfTokens.issue('login', ...binding);
    const page = resetRequestPage(layout, { fields, token, email, error, restartPath });
    return respondPage(page, { status: error === null ? 200 : 400, cookies });
  };

  const request = (account: AccountRecord | null, { layout }: PageContext) => {
    const { language } = layout;
    if (account === null) events({ type: 'account.reset_refused', reason: 'unknown' });
    else if (account.disabledAt !== null)
      events({ type: 'account.reset_refused', accountId: account.id, reason: 'disabled' });
    else events({ type: 'account.reset_requested', accountId: account.id, language });
  };

  return [
    pages.route('GET', PATH, async (context, httpRequest) => {
      const loginTarget = await findLoginTarget(context, httpRequest, readParameters(queryOf(httpRequest)));
      if ('missing' in loginTarget) return context.errors.showMissing('/login', loginTarget);
      return show(context, loginTarget, '');
    }),

    pages.route('POST', PATH, async (context, httpRequest, connection) => {
      const { layout } = context;
      const found = await readLoginForm(context, httpRequest, PATH);
      if ('rejection' in found) return found.rejection;
      const { form, loginTarget } = found;
      const email = form.one('email') ?? '';
      const key = emailKey(email);
      if (key === null) return show(context, loginTarget, email, layout.text('setup.error.email'));
      await chargeSite(siteOf(connection) ?? 'unknown');
      await chargeAddress(key);
      // The mail is sent later, by the audit log: nothing here depends on the account but which event is recorded.
      request(await store.findAccountByEmail(key), context);
      return respondPage(
        messagePage(layout, {
          heading: layout.text('forgotten.sent'),
          sentences: [layout.text('forgotten.sent-what'), layout.text('forgotten.sent-else')],
          action: { label: layout.text('forgotten.back'), href: loginTarget.restartPath },
        }),
      );
    }),
  ];
}
