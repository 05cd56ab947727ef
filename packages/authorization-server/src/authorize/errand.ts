/** What somebody signs in for, as the pages and hands of signing in know it. */
import type { HttpResponse } from '@portcullis/http';
import type { SignInPurpose } from '../pages/sign-in.ts';
import type { IdentityProvider } from '../upstream/third-party.ts';

/** An errand in the browser that sent the request. */
export interface Errand {
  /** The app that waits, or the page of their own account that somebody comes for. */
  readonly purpose: SignInPurpose;
  /** The authorization request that waits; `null`: none does. */
  readonly transactionId: string | null;
  /** What a form carries so that the errand is found again. */
  readonly fields: Readonly<Record<string, string>>;
  /** What forms of this errand in this browser are bound to. */
  readonly bound: readonly string[];
  /** Whether whoever has to be signed in is. */
  readonly isSignedIn: boolean;
  /** Whether they have to show anew who they are, signed in or not. */
  readonly isFresh: boolean;
  /** Where one begins again. */
  readonly path: string;
  /** Cookies that the page has to set. */
  readonly cookies: readonly string[];
  /** Goes on, for the person that is signed in. */
  proceed(): Promise<HttpResponse>;
  /** Goes on for somebody who has just signed in, by a session whose cookie has to be set, maybe with others. */
  proceedAs(accountId: string, cookies: readonly string[]): Promise<HttpResponse>;
  /** Goes on for somebody who chose to sign in by a third party. */
  goTo(identityProvider: IdentityProvider): Promise<HttpResponse>;
}
