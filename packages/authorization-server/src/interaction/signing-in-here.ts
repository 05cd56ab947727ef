/** How people sign in here, and change how they do: passwords, passkeys, codes, one-time links. */
import { createChangePassword } from '../accounts/change-password.ts';
import { createFirstAccount, type FirstAccount } from '../accounts/first-account.ts';
import { createKnownBrowsers } from '../accounts/known-browsers.ts';
import { createPasskeys, type Passkeys } from '../accounts/passkeys.ts';
import { createPasswords } from '../accounts/passwords.ts';
import { createSecondFactors, type SecondFactors } from '../accounts/second-factors.ts';
import { createSharedAttempts } from '../accounts/shared-attempts.ts';
import { createSignIn } from '../accounts/sign-in.ts';
import { createLogin } from '../authorize/login.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { createSecondStep } from '../authorize/second-step.ts';
import { createSetup } from '../authorize/setup.ts';
import { createWelcome } from '../authorize/welcome.ts';
import type { Configuration } from '../configuration.ts';
import { createAccountLinks } from '../home/account-links.ts';
import { createCodes } from '../home/codes.ts';
import { createPasskeyPages } from '../home/passkeys.ts';
import { createPasswordPage } from '../home/password.ts';
import type { Route } from '../routes.ts';

export interface SigningInHere {
  readonly firstAccount: FirstAccount;
  readonly factors: SecondFactors;
  /** `null` where there are none. */
  readonly passkeys: Passkeys | null;
  /** The pages of signing in, in the language of their rooms. */
  routes(rooms: Rooms): readonly Route[];
}

/** Makes the hands once; the pages of every language work with the same. */
export function createSigningInHere(configuration: Configuration): SigningInHere {
  const passwords = createPasswords();
  const passkeys = createPasskeys(configuration);
  const firstAccount = createFirstAccount(configuration, passwords);
  const knownBrowsers = createKnownBrowsers(configuration);
  const signIn = createSignIn(configuration, passwords, knownBrowsers);
  const changePassword = createChangePassword(configuration, { passwords, signIn, knownBrowsers });
  const factors = createSecondFactors(configuration);
  const attempts = createSharedAttempts(configuration, 'code');
  return {
    firstAccount,
    factors,
    passkeys,
    routes(rooms) {
      const secondStep = createSecondStep(rooms, {
        factors,
        attempts,
        knownBrowsers,
        letIn: createWelcome(rooms, knownBrowsers),
      });
      return [
        ...createLogin(rooms, { signIn, passkeys, welcome: secondStep.welcome }),
        secondStep.route,
        ...createCodes(rooms, factors, attempts, knownBrowsers),
        ...createPasswordPage(rooms, changePassword),
        ...(passkeys === null ? [] : createPasskeyPages(rooms, passkeys)),
        ...createAccountLinks(rooms, { passwords, passkeys, knownBrowsers }),
        ...createSetup(rooms, { firstAccount, knownBrowsers, hasPasskeys: passkeys !== null }),
      ];
    },
  };
}
