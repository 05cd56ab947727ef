/** Password authentication, throttled against brute force: same response and same work whether or not the account exists (no user enumeration). */
import type { ConnectionInfo, HttpRequest } from '@portcullis/http';
import type { ServerContext } from '../context.ts';
import { createLoginThrottle } from '../rate-limit/login-throttle.ts';
import type { HashRequester } from '../rate-limit/password-hashing-semaphore.ts';
import { siteOf } from '../rate-limit/policies.ts';
import type { AccountRecord } from '../store/index.ts';
import { emailKey } from '../users/accounts.ts';
import type { DeviceCookies } from '../users/device-cookie.ts';
import type { Passwords } from '../users/passwords.ts';

/** Result of a password check. */
type PasswordLogin =
  | { readonly kind: 'signed-in'; readonly account: AccountRecord }
  /** Unknown account, wrong password or disabled account: indistinguishable on purpose. */
  | { readonly kind: 'refused' }
  /** Throttled after earlier failures: the password was not checked. */
  | { readonly kind: 'throttled'; readonly retryAfter: number };

/** The browser and network that an attempt comes from. */
export interface LoginSource {
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
}

/** Checks an e-mail address and a password. */
export type AuthenticateByPassword = (
  email: string,
  password: string,
  origin: LoginSource,
) => Promise<PasswordLogin>;

/** @throws OAuthError `temporarily_unavailable` if too many passwords are being checked, or the store is unavailable */
export function createAuthenticateByPassword(
  context: ServerContext,
  passwords: Passwords,
  deviceCookies: DeviceCookies,
): AuthenticateByPassword {
  const { store, events } = context;
  const throttle = context.limits.keep('sign-in by password', () => createLoginThrottle(context, 'password'));

  /** Rehashes at the current cost. Returns the stored account, because what follows depends on the stored hash. */
  const refresh = async (
    account: AccountRecord,
    password: string,
    asker: HashRequester,
  ): Promise<AccountRecord | null> => {
    const passwordHash = await passwords.hash(password, account.emailKey);
    await store.replacePasswordHash(account.id, account.passwordHash, passwordHash);
    const found = await store.findAccount(account.id);
    if (found === null || found.passwordHash === passwordHash) return found;
    // A concurrent request replaced it: rehashed this password, or set another.
    return (await passwords.verify(password, found.passwordHash, asker)) ? found : null;
  };

  const check = async (
    key: string,
    password: string,
    asker: HashRequester,
  ): Promise<AccountRecord | null> => {
    const account = await store.findAccountByEmail(key);
    const isRight = await passwords.verify(password, account?.passwordHash ?? null, asker);
    if (account === null || !isRight || account.disabledAt !== null) return null;
    return passwords.isOutdated(account.passwordHash) ? refresh(account, password, asker) : account;
  };

  /** Without a device cookie, a throttled attempt costs no store access. */
  const findDevice = async (request: HttpRequest, key: string): Promise<string | null> =>
    deviceCookies.isPresent(request)
      ? deviceCookies.findDevice(request, await store.findAccountByEmail(key))
      : null;

  return async (email, password, { request, connection }) => {
    // An invalid address is queried too: no account has the empty key.
    const key = emailKey(email) ?? '';
    const device = await findDevice(request, key);
    const attempt = await throttle({ account: key, connection, device }, (isKnown) =>
      check(key, password, { isKnown, fairnessKey: isKnown ? key : (siteOf(connection) ?? '') }),
    );
    if (attempt.kind === 'throttled') return attempt;
    if (attempt.result !== null) return { kind: 'signed-in', account: attempt.result };
    events({ type: 'login.failed' });
    return { kind: 'refused' };
  };
}
