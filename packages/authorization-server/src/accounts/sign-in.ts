/** Signing in by e-mail and password: the same answer and the same work whether or not the account exists. */
import type { Configuration } from '../configuration.ts';
import type { AccountRecord } from '../ports/index.ts';
import { emailKey } from './email.ts';
import type { Passwords } from './passwords.ts';
import { createSharedAttempts } from './shared-attempts.ts';

/** What became of a sign-in. */
type SignIn =
  | { readonly kind: 'signed-in'; readonly account: AccountRecord }
  /** Unknown account, wrong password or disabled account: nobody learns which. */
  | { readonly kind: 'refused' }
  /** Too many failures before; this one was not even looked at. */
  | { readonly kind: 'wait'; readonly seconds: number };

/** Judges an e-mail address and a password that came from a network address. */
export type SignInHand = (email: string, password: string, address: string | undefined) => Promise<SignIn>;

/** @throws OAuthError `temporarily_unavailable` when too many sign in at once, or the store cannot answer. */
export function createSignIn(configuration: Configuration, passwords: Passwords): SignInHand {
  const { store, events } = configuration;
  const attempts = createSharedAttempts(configuration, 'sign-in');

  const check = async (key: string, password: string): Promise<AccountRecord | null> => {
    const account = await store.findAccountByEmail(key);
    const isRight = await passwords.verify(password, account?.passwordHash ?? null);
    if (account === null || !isRight || account.disabledAt !== null) return null;
    if (passwords.isOutdated(account.passwordHash)) {
      await store.replacePasswordHash(account.id, account.passwordHash, await passwords.hash(password));
    }
    return account;
  };

  return async (email, password, address) => {
    // What is no address is looked up all the same: no account has the empty key.
    const key = emailKey(email) ?? '';
    const attempt = await attempts.begin(key, address);
    if (attempt.kind === 'wait') return attempt;
    const account = await attempt.judge(check(key, password));
    if (account === null) {
      events({ type: 'account.sign-in-refused' });
      await attempt.failed();
      return { kind: 'refused' };
    }
    attempt.succeeded();
    return { kind: 'signed-in', account };
  };
}
