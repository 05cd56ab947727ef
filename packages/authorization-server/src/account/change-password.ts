/** Changing a password: by whoever knows the current one. */
import type { Configuration } from '../configuration.ts';
import type { AuthenticateByPassword, LoginSource } from '../login/password.ts';
import type { AccountRecord } from '../store/index.ts';
import type { DeviceCookies } from '../users/device-cookie.ts';
import type { Passwords } from '../users/passwords.ts';

/** What became of it: changed; a wrong current password; or too many of those. */
type PasswordChange =
  /** With a `Set-Cookie` value: the browser that changed it is known by the new one. */
  | { readonly kind: 'changed'; readonly cookie: string }
  | { readonly kind: 'refused' }
  | { readonly kind: 'wait'; readonly seconds: number };

interface PasswordChangeRequest {
  readonly account: AccountRecord;
  readonly current: string;
  /** Judged already. */
  readonly password: string;
  /** The session that goes on while every other one ends; `null`: all go on. */
  readonly kept: string | null;
  readonly origin: LoginSource;
}

export type ChangePassword = (wanted: PasswordChangeRequest) => Promise<PasswordChange>;

interface ChangePasswordDependencies {
  readonly passwords: Passwords;
  readonly signIn: AuthenticateByPassword;
  readonly deviceCookies: DeviceCookies;
}

/** The current password is judged like one of a sign-in: as often, and no faster. */
export function createChangePassword(
  { store, events }: Configuration,
  { passwords, signIn, deviceCookies }: ChangePasswordDependencies,
): ChangePassword {
  return async ({ account, current, password, kept, origin }) => {
    const judged = await signIn(account.email, current, origin);
    if (judged.kind !== 'signed-in') return judged;
    const newHash = await passwords.hash(password, account.emailKey);
    // It may have been hashed anew a moment ago.
    const found = await store.findAccount(account.id);
    // Point of no return: the old password is none any more.
    const isChanged =
      found !== null && (await store.changePassword(account.id, found.passwordHash, newHash, kept));
    if (!isChanged) return { kind: 'refused' };
    events({ type: 'password.changed', accountId: account.id });
    const cookie = deviceCookies.issue(origin.request, { ...found, passwordHash: newHash });
    return { kind: 'changed', cookie };
  };
}
