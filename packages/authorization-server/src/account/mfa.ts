/** The account pages of MFA: set up TOTP, renew recovery codes, disable. */
import type { HttpResponse } from '@portcullis/http';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import { accountPaths } from '../ui/account-tabs.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { SecondFactors } from '../users/second-factors.ts';
import type { User } from '../users/sessions.ts';
import { createAccountRoutes } from './account-routes.ts';
import type { Confirmation } from './confirmation.ts';
import type { ConfirmedChange } from './confirmation-view.ts';
import { recoveryCodesPage, totpSetupPage } from './mfa-view.ts';
import { accountNoticePath } from './overview-view.ts';

const SET_UP: ConfirmedChange = {
  action: '/account/codes',
  heading: 'account.codes',
  button: 'passkey.continue',
};
const RENEW: ConfirmedChange = {
  action: '/account/codes/recovery',
  heading: 'code.renew',
  why: 'code.renew-why',
  button: 'code.renew-submit',
};
const TURN_OFF: ConfirmedChange = {
  action: '/account/codes/off',
  heading: 'account.codes',
  button: 'code.off',
};

export function createMfaRoutes(
  pages: PageRouter,
  factors: SecondFactors,
  confirmation: Confirmation,
): readonly Route[] {
  const { events } = pages;
  const routes = createAccountRoutes(pages, 'account', 'delicate');

  const showSetup = (
    { layout }: PageContext,
    user: User,
    proof: string,
    retried: string | null = null,
  ): Promise<HttpResponse> => {
    const { account } = user;
    const setup =
      (retried === null ? null : factors.resumeSetup(account, retried)) ?? factors.startSetup(account);
    const error = retried === null ? null : layout.text('code.setup-error');
    const page = totpSetupPage(layout, { ...setup, proof, token: routes.csrfToken(user), error });
    return respondPage(page, { status: error === null ? 200 : 400 });
  };

  return [
    routes.page(SET_UP.action, (visit) => confirmation.ask(visit, SET_UP)),

    routes.form(SET_UP.action, async (visit) => {
      const { context, user, parameters } = visit;
      if (parameters.one('proof') === undefined) {
        const confirmed = await confirmation.check(visit, SET_UP);
        return 'response' in confirmed ? confirmed.response : showSetup(context, user, confirmed.proof);
      }
      const { account } = user;
      const encryptedSecret = parameters.one('encrypted_secret') ?? '';
      // A form that is sent twice must not replace the recovery codes that the user has just saved.
      if (await factors.isSetUp(account.id, encryptedSecret)) return respondRedirect(accountPaths.account);
      if (!(await confirmation.isProven(visit, SET_UP.action))) return confirmation.ask(visit, SET_UP);
      const codes = await factors.confirmSetup(user, encryptedSecret, parameters.one('code') ?? '', () =>
        confirmation.consumeProof(visit),
      );
      // The codes were switched off or the session ended since: the form of before sets nothing up.
      if (codes === 'used') return confirmation.ask(visit, SET_UP);
      if (codes === null) return showSetup(context, user, parameters.required('proof'), encryptedSecret);
      events({ type: 'second_factor.enabled', accountId: account.id });
      return respondPage(recoveryCodesPage(context.layout, codes));
    }),

    routes.page(RENEW.action, async (visit) =>
      (await factors.isEnabled(visit.user.account.id))
        ? confirmation.ask(visit, RENEW)
        : respondRedirect(accountPaths.account),
    ),

    routes.form(RENEW.action, async (visit) => {
      const confirmed = await confirmation.check(visit, RENEW);
      if ('response' in confirmed) return confirmed.response;
      const { user } = visit;
      const codes = await factors.renewRecoveryCodes(user);
      if (codes === null) return respondRedirect(accountPaths.account);
      events({ type: 'second_factor.recovery_codes_renewed', accountId: user.account.id });
      return respondPage(recoveryCodesPage(visit.context.layout, codes));
    }),

    routes.form(TURN_OFF.action, async (visit) => {
      const confirmed = await confirmation.check(visit, TURN_OFF);
      if ('response' in confirmed) return confirmed.response;
      const { id: accountId } = visit.user.account;
      if (await factors.disable(accountId)) events({ type: 'second_factor.disabled', accountId });
      return respondRedirect(accountNoticePath('codes-off'));
    }),
  ];
}
