/** Logins with local accounts: what their routes share, and which users have them. */
import type { PageContext } from '../authorization/page-context.ts';
import type { ThrottledLogin } from '../rate-limit/login-throttle.ts';
import type { AccountRecord } from '../store/index.ts';
import type { DeviceCookies } from '../users/device-cookie.ts';
import type { FirstAccountSetup } from '../users/first-account.ts';
import type { Passkeys } from '../users/passkeys.ts';
import type { Passwords } from '../users/passwords.ts';
import type { SecondFactors } from '../users/second-factors.ts';
import type { User } from '../users/sessions.ts';
import type { AuthenticateByPassword, LoginSource } from './password.ts';

export interface LocalLogin {
  readonly passwords: Passwords;
  readonly authenticate: AuthenticateByPassword;
  /** `null`: passkeys are not available at this issuer. */
  readonly passkeys: Passkeys | null;
  readonly factors: SecondFactors;
  /** Verifies and consumes a TOTP code or a recovery code, throttled like a password. */
  readonly verifyCode: (
    account: AccountRecord,
    code: string,
    source: LoginSource,
  ) => Promise<ThrottledLogin<boolean>>;
  readonly deviceCookies: DeviceCookies;
  readonly firstAccount: FirstAccountSetup;
}

/** Whether a user logs in with a local account; otherwise only the identity provider decides how. */
export async function hasLocalLogin(
  { federation }: Pick<PageContext, 'federation'>,
  user: User,
): Promise<boolean> {
  const { identityProvider, isSatisfied } = await federation.resolveLoginMethod(null, user);
  return identityProvider === null && isSatisfied;
}
