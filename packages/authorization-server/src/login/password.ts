/** Signing in by e-mail and password: the same answer and the same work whether or not the account exists. */
import type { ConnectionInfo, HttpRequest } from '@portcullis/http';
import { sitePrefixOf } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import { createLoginThrottle } from '../rate-limit/login-throttle.ts';
import type { HashRequester } from '../rate-limit/password-hashing-semaphore.ts';
import type { AccountRecord } from '../store/index.ts';
import { emailKey } from '../users/accounts.ts';
import type { DeviceCookies } from '../users/device-cookie.ts';
import type { Passwords } from '../users/passwords.ts';

/** What became of a sign-in. */
type PasswordLogin =
  | { readonly kind: 'signed-in'; readonly account: AccountRecord }
  /** Unknown account, wrong password or disabled account: nobody learns which. */
  | { readonly kind: 'refused' }
  /** Too many failures before; this one was not even looked at. */
  | { readonly kind: 'wait'; readonly seconds: number };

/** Where an attempt comes from: a browser at an address. */
export interface LoginSource {
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
}

/** Judges an e-mail address and a password. */
export type AuthenticateByPassword = (
  email: string,
  password: string,
  origin: LoginSource,
) => Promise<PasswordLogin>;

/** @throws OAuthError `temporarily_unavailable` when too many sign in at once, or the store cannot answer. */
export function createAuthenticateByPassword(
  configuration: Configuration,
  passwords: Passwords,
  deviceCookies: DeviceCookies,
): AuthenticateByPassword {
  const { store, events } = configuration;
  const attempts = createLoginThrottle(configuration, 'sign-in');

  /** Hashed anew at the cost of now. What is bound to the hash, as the form of the second step is, needs the one of the store. */
  const refresh = async (account: AccountRecord, password: string): Promise<AccountRecord> => {
    const passwordHash = await passwords.hash(password, account.emailKey);
    await store.replacePasswordHash(account.id, account.passwordHash, passwordHash);
    const found = await store.findAccount(account.id);
    // Otherwise somebody was faster, maybe with another password.
    return found?.passwordHash === passwordHash ? found : account;
  };

  const check = async (
    key: string,
    password: string,
    asker: HashRequester,
  ): Promise<AccountRecord | null> => {
    const account = await store.findAccountByEmail(key);
    const isRight = await passwords.verify(password, account?.passwordHash ?? null, asker);
    if (account === null || !isRight || account.disabledAt !== null) return null;
    return passwords.isOutdated(account.passwordHash) ? refresh(account, password) : account;
  };

  /** Who carries no such cookie and has to wait costs the store nothing. */
  const findBrowser = async (request: HttpRequest, key: string): Promise<string | null> =>
    deviceCookies.isPresent(request)
      ? deviceCookies.findDevice(request, await store.findAccountByEmail(key))
      : null;

  return async (email, password, { request, connection: { address } }) => {
    // What is no address is looked up all the same: no account has the empty key.
    const key = emailKey(email) ?? '';
    const attempt = await attempts.begin(key, address, await findBrowser(request, key));
    if (attempt.kind === 'wait') return attempt;
    const account = await attempt.judge(check(key, password, askerOf(attempt.isKnown, key, address)));
    if (account === null) {
      events({ type: 'login.failed' });
      await attempt.failed();
      return { kind: 'refused' };
    }
    attempt.succeeded();
    return { kind: 'signed-in', account };
  };
}

/** Of strangers, a whole site is one party: it may have as many networks as it likes. */
function askerOf(isKnown: boolean, account: string, address: string | undefined): HashRequester {
  return {
    isKnown,
    fairnessKey: isKnown ? account : ((address === undefined ? null : sitePrefixOf(address)) ?? ''),
  };
}
