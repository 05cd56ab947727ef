/** All pages by name, with what each of them shows: what an operator may replace. */
import type { AccountPage } from './account.ts';
import type { AccountLinkPage } from './account-link.ts';
import type { CodePage, RecoveryCodesPage, RenewCodesPage, SetUpCodesPage } from './codes.ts';
import type { ConnectionsPage, EndPage } from './connections.ts';
import type { ConsentPage } from './consent.ts';
import type { FrontPage } from './front.ts';
import type { Frame } from './layout.ts';
import type { Notice } from './notice.ts';
import type { AddPasskeyPage } from './passkeys.ts';
import type { PasswordPage } from './password.ts';
import type { RemovalPage } from './remove-account.ts';
import type { ReadyPage, SetupPage } from './setup.ts';
import type { SignInPage } from './sign-in.ts';
import type { SignOutPage } from './sign-out.ts';

interface Contents {
  readonly front: FrontPage;
  readonly 'sign-in': SignInPage;
  readonly consent: ConsentPage;
  readonly notice: Notice;
  readonly 'sign-out': SignOutPage;
  readonly setup: SetupPage;
  readonly ready: ReadyPage;
  readonly connections: ConnectionsPage;
  readonly end: EndPage;
  readonly account: AccountPage;
  readonly 'account-link': AccountLinkPage;
  readonly password: PasswordPage;
  readonly 'remove-account': RemovalPage;
  readonly 'add-passkey': AddPasskeyPage;
  readonly code: CodePage;
  readonly 'set-up-codes': SetUpCodesPage;
  readonly 'renew-codes': RenewCodesPage;
  readonly 'recovery-codes': RecoveryCodesPage;
}

/**
 * Pages of an operator. Each answers a whole HTML document, and escapes what it shows: names of apps are chosen by
 * strangers. Its forms must carry the same fields. It is served under the same content security policy as ours, so it
 * has no script and no style but those of this server.
 */
export type Pages = {
  readonly [Name in keyof Contents]?: (content: Contents[Name], frame: Frame) => string | Promise<string>;
};

/** The pages as the frame looks them up. */
export function replacedPages(pages: Pages): Frame['replaced'] {
  return new Map(Object.entries(pages)) as Frame['replaced'];
}
