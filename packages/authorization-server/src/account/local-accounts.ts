/** Local accounts: creates the services for passwords, passkeys, MFA and account links, and the routes that use them. */

import type { Rooms } from '../authorize/rooms.ts';
import type { Configuration } from '../configuration.ts';
import { createCompleteLogin } from '../login/complete-login.ts';
import { createLoginRoutes } from '../login/login.ts';
import { createMfaStep } from '../login/mfa.ts';
import { createAuthenticateByPassword } from '../login/password.ts';
import { createSetupRoutes } from '../login/setup.ts';
import { createLoginThrottle } from '../rate-limit/login-throttle.ts';
import type { Route } from '../routes.ts';
import { createDeviceCookies } from '../users/device-cookie.ts';
import { createFirstAccountSetup, type FirstAccountSetup } from '../users/first-account.ts';
import { createPasskeys, type Passkeys } from '../users/passkeys.ts';
import { createPasswords } from '../users/passwords.ts';
import { createSecondFactors, type SecondFactors } from '../users/second-factors.ts';
import { createAccountLinkRoutes } from './account-links.ts';
import { createMfaRoutes } from './mfa.ts';
import { createPasskeyRoutes } from './passkeys.ts';
import { createChangePassword, createPasswordRoutes } from './password.ts';

export interface LocalAccounts {
  readonly firstAccount: FirstAccountSetup;
  readonly factors: SecondFactors;
  /** `null`: passkeys are not available at this issuer. */
  readonly passkeys: Passkeys | null;
  /** Login, setup and credential routes. */
  routes(rooms: Rooms): readonly Route[];
}

/** Services are created once and shared by the routes of all languages. */
export function createLocalAccounts(configuration: Configuration): LocalAccounts {
  const passwords = createPasswords();
  const passkeys = createPasskeys(configuration);
  const firstAccount = createFirstAccountSetup(configuration, passwords);
  const deviceCookies = createDeviceCookies(configuration);
  const signIn = createAuthenticateByPassword(configuration, passwords, deviceCookies);
  const changePassword = createChangePassword(configuration, { passwords, signIn, deviceCookies });
  const factors = createSecondFactors(configuration);
  const attempts = createLoginThrottle(configuration, 'code');
  return {
    firstAccount,
    factors,
    passkeys,
    routes(rooms) {
      const secondStep = createMfaStep(rooms, {
        factors,
        attempts,
        deviceCookies,
        completeLogin: createCompleteLogin(rooms, deviceCookies),
      });
      return [
        ...createLoginRoutes(rooms, { signIn, passkeys, completeLogin: secondStep.startMfaOrComplete }),
        secondStep.route,
        ...createMfaRoutes(rooms, factors, attempts, deviceCookies),
        ...createPasswordRoutes(rooms, changePassword),
        ...(passkeys === null ? [] : createPasskeyRoutes(rooms, passkeys)),
        ...createAccountLinkRoutes(rooms, { passwords, passkeys, deviceCookies }),
        ...createSetupRoutes(rooms, { firstAccount, deviceCookies, hasPasskeys: passkeys !== null }),
      ];
    },
  };
}
