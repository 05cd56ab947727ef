/** Local accounts: creates the services for passwords, passkeys, MFA and account links, and the routes that use them. */
import type { PageRouter } from '../authorization/page-context.ts';
import type { ServerContext } from '../context.ts';
import type { Route } from '../http/router.ts';
import { createCompleteLogin } from '../login/complete-login.ts';
import { createLoginRoutes } from '../login/login.ts';
import { createMfaStep, type MfaStep } from '../login/mfa.ts';
import { createAuthenticateByPassword } from '../login/password.ts';
import { createSetupRoutes } from '../login/setup.ts';
import { createLoginThrottle } from '../rate-limit/login-throttle.ts';
import { createDeviceCookies } from '../users/device-cookie.ts';
import { createFirstAccountSetup, type FirstAccountSetup } from '../users/first-account.ts';
import { createPasskeys, type Passkeys } from '../users/passkeys.ts';
import { createPasswords } from '../users/passwords.ts';
import { createSecondFactors, type SecondFactors } from '../users/second-factors.ts';
import { createAccountLinkRoutes } from './account-links.ts';
import { type Confirmation, createConfirmation } from './confirmation.ts';
import { createMfaRoutes } from './mfa.ts';
import { createPasskeyRoutes } from './passkeys.ts';
import { createChangePassword, createPasswordRoutes } from './password.ts';

export interface LocalAccounts {
  readonly firstAccount: FirstAccountSetup;
  readonly factors: SecondFactors;
  /** `null`: passkeys are not available at this issuer. */
  readonly passkeys: Passkeys | null;
  /** Requires a credential of local users before a change. */
  confirmation(pages: PageRouter): Confirmation;
  /** The last steps of a login, once its first factor is verified. */
  mfaStep(pages: PageRouter): MfaStep;
  /** Login, setup and credential routes. */
  routes(pages: PageRouter, confirmation: Confirmation, mfa: MfaStep): readonly Route[];
}

/** Services are created once; the routes pick the language of each request. */
export function createLocalAccounts(context: ServerContext): LocalAccounts {
  const passwords = createPasswords();
  const passkeys = createPasskeys(context);
  const firstAccount = createFirstAccountSetup(context, passwords);
  const deviceCookies = createDeviceCookies(context);
  const authenticate = createAuthenticateByPassword(context, passwords, deviceCookies);
  const changePassword = createChangePassword(context, { passwords, authenticate, deviceCookies });
  const factors = createSecondFactors(context);
  const throttle = context.limits.keep('sign-in by code', () => createLoginThrottle(context, 'code'));
  return {
    firstAccount,
    factors,
    passkeys,
    confirmation: (pages) =>
      createConfirmation(pages, { factors, passkeys, authenticate, throttle, deviceCookies }),
    mfaStep: (pages) =>
      createMfaStep(pages, {
        factors,
        throttle,
        deviceCookies,
        completeLogin: createCompleteLogin(deviceCookies),
      }),
    routes(pages, confirmation, mfa) {
      return [
        ...createLoginRoutes(pages, {
          authenticate,
          passkeys,
          completeLogin: mfa.startMfaOrComplete,
          deviceCookies,
        }),
        mfa.route,
        ...createMfaRoutes(pages, factors, confirmation),
        ...createPasswordRoutes(pages, changePassword),
        ...(passkeys === null ? [] : createPasskeyRoutes(pages, passkeys, confirmation)),
        ...createAccountLinkRoutes(pages, { passwords, passkeys, factors, deviceCookies }),
        ...createSetupRoutes(pages, { firstAccount, deviceCookies, hasPasskeys: passkeys !== null }),
      ];
    },
  };
}
