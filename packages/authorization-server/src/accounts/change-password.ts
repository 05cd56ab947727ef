/** Changing a password: by whoever knows the current one. */
import type { Configuration } from '../configuration.ts';
import type { AccountRecord } from '../ports/index.ts';
import type { KnownBrowsers } from './known-browsers.ts';
import type { Passwords } from './passwords.ts';
import type { Origin, SignInHand } from './sign-in.ts';

/** What became of it: changed; a wrong current password; or too many of those. */
type Change =
  /** With a `Set-Cookie` value: the browser that changed it is known by the new one. */
  | { readonly kind: 'changed'; readonly cookie: string }
  | { readonly kind: 'refused' }
  | { readonly kind: 'wait'; readonly seconds: number };

interface WantedChange {
  readonly account: AccountRecord;
  readonly current: string;
  /** Judged already. */
  readonly password: string;
  /** The session that goes on while every other one ends; `null`: all go on. */
  readonly kept: string | null;
  readonly origin: Origin;
}

export type ChangePassword = (wanted: WantedChange) => Promise<Change>;

interface ChangeHands {
  readonly passwords: Passwords;
  readonly signIn: SignInHand;
  readonly knownBrowsers: KnownBrowsers;
}

/** The current password is judged like one of a sign-in: as often, and no faster. */
export function createChangePassword(
  { store, events }: Configuration,
  { passwords, signIn, knownBrowsers }: ChangeHands,
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
    const cookie = knownBrowsers.mark(origin.request, { ...found, passwordHash: newHash });
    return { kind: 'changed', cookie };
  };
}
