/** Local accounts: creates the services for passwords, passkeys, MFA and account links, and the routes that use them. */
import type { PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import type { LocalLogin } from '../login/local-login.ts';
import { createLoginRoutes } from '../login/login.ts';
import { createMfaStep } from '../login/mfa.ts';
import { createAuthenticateByPassword } from '../login/password.ts';
import { createSetupRoutes } from '../login/setup.ts';
import { createLoginThrottle } from '../rate-limit/login-throttle.ts';
import { createDeviceCookies } from '../users/device-cookie.ts';
import { createFirstAccountSetup } from '../users/first-account.ts';
import { createPasskeys } from '../users/passkeys.ts';
import { createPasswords } from '../users/passwords.ts';
import { createSecondFactors } from '../users/second-factors.ts';
import { createAccountLinkRoutes } from './account-links.ts';
import { createConfirmation } from './confirmation.ts';
import { createMfaRoutes } from './mfa.ts';
import { createPasskeyRoutes } from './passkeys.ts';
import { createPasswordRoutes } from './password.ts';

/** Services are created once; the routes pick the language of each request. */
export function createLocalAccounts(pages: PageRouter) {
  const passwords = createPasswords();
  const passkeys = createPasskeys(pages);
  const deviceCookies = createDeviceCookies(pages);
  const factors = createSecondFactors(pages);
  const throttle = pages.limits.keep('sign-in by code', () => createLoginThrottle(pages, 'code'));
  const local: LocalLogin = {
    ...{ passwords, passkeys, factors, deviceCookies },
    authenticate: createAuthenticateByPassword(pages, passwords, deviceCookies),
    verifyCode: (account, code, { request, connection }) => {
      const device = deviceCookies.findDevice(request, account);
      return throttle({ account: account.id, connection, device }, () => factors.verify(account, code));
    },
    firstAccount: createFirstAccountSetup(pages, passwords),
  };
  const confirmation = createConfirmation(pages, local);
  const mfa = createMfaStep(pages, local);
  const credentialRoutes = (): readonly Route[] => [
    mfa.route,
    ...createMfaRoutes(pages, factors, confirmation),
    ...createPasswordRoutes(pages, local),
    ...(passkeys === null ? [] : createPasskeyRoutes(pages, passkeys, confirmation)),
    ...createAccountLinkRoutes(pages, local),
    ...createSetupRoutes(pages, local),
  ];
  return {
    ...local,
    /** Requires a credential of local users before a change. */
    confirmation,
    /** The last steps of a login, once its first factor is verified. */
    completeLogin: mfa.startMfaOrComplete,
    /** Login routes, and where there are local accounts, setup and credential routes. */
    routes: (): readonly Route[] => [
      ...createLoginRoutes(pages, local, mfa.startMfaOrComplete),
      ...(pages.options.localAccounts ? credentialRoutes() : []),
    ],
  };
}
