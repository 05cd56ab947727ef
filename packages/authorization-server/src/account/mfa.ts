/** The account pages of MFA: set up TOTP, renew recovery codes, disable. */
import type { Route } from '../http/router.ts';
import type { PageContext, PageRouter } from '../page-context.ts';
import type { LoginThrottle } from '../rate-limit/login-throttle.ts';
import { accountPaths } from '../ui/account-tabs.ts';
import { type FormError, formErrorOptions, tooManyAttempts } from '../ui/form-error.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { DeviceCookies } from '../users/device-cookie.ts';
import type { SecondFactors } from '../users/second-factors.ts';
import type { User } from '../users/sessions.ts';
import { createAccountRoutes } from './account-routes.ts';
import { recoveryCodesPage, renewRecoveryCodesPage, totpSetupPage } from './mfa-view.ts';
import { accountNoticePath } from './overview-view.ts';

export function createMfaRoutes(
  pages: PageRouter,
  factors: SecondFactors,
  throttle: LoginThrottle,
  deviceCookies: DeviceCookies,
): readonly Route[] {
  const { events } = pages;
  const routes = createAccountRoutes(pages, 'account', 'delicate');
  const askBeforeRenewing = ({ layout }: PageContext, user: User, formError: FormError | null) => {
    const page = renewRecoveryCodesPage(layout, {
      token: routes.csrfToken(user),
      error: formError?.message ?? null,
    });
    return respondPage(page, formErrorOptions(formError));
  };

  return [
    routes.page('/account/codes', async ({ context: { layout }, user }) => {
      const setup = factors.startSetup(user.account);
      return respondPage(totpSetupPage(layout, { ...setup, token: routes.csrfToken(user), error: null }));
    }),

    routes.form('/account/codes', async ({ context: { layout }, user, parameters }) => {
      const { account } = user;
      const encryptedSecret = parameters.one('encrypted_secret') ?? '';
      const codes = await factors.confirmSetup(account, encryptedSecret, parameters.one('code') ?? '');
      if (codes !== null) {
        events({ type: 'second_factor.enabled', accountId: account.id });
        return respondPage(recoveryCodesPage(layout, { codes }));
      }
      const setup = factors.resumeSetup(account, encryptedSecret) ?? factors.startSetup(account);
      const wrong = layout.text('code.setup-error');
      return respondPage(totpSetupPage(layout, { ...setup, token: routes.csrfToken(user), error: wrong }), {
        status: 400,
      });
    }),

    routes.page('/account/codes/recovery', async ({ context, user }) =>
      (await factors.isEnabled(user.account.id))
        ? askBeforeRenewing(context, user, null)
        : respondRedirect(accountPaths.account),
    ),

    routes.form('/account/codes/recovery', async ({ context, user, parameters, request, connection }) => {
      const { layout } = context;
      const { account } = user;
      const device = deviceCookies.findDevice(request, account);
      const attempt = await throttle({ account: account.id, connection, device }, () =>
        factors.verify(account, parameters.one('code') ?? ''),
      );
      if (attempt.kind === 'throttled')
        return askBeforeRenewing(context, user, tooManyAttempts(layout, attempt.retryAfter));
      if (!attempt.result) {
        return askBeforeRenewing(context, user, { message: layout.text('code.error'), status: 400 });
      }
      const codes = await factors.renewRecoveryCodes(account.id);
      if (codes === null) return respondRedirect(accountPaths.account);
      events({ type: 'second_factor.recovery_codes_renewed', accountId: account.id });
      return respondPage(recoveryCodesPage(layout, { codes }));
    }),

    routes.form('/account/codes/off', async ({ user }) => {
      const { id: accountId } = user.account;
      if (await factors.disable(accountId)) events({ type: 'second_factor.disabled', accountId });
      return respondRedirect(accountNoticePath('codes-off'));
    }),
  ];
}
