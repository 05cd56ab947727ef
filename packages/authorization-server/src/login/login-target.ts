/** What somebody signs in for, as the pages and hands of signing in know it. */
import type { HttpResponse } from '@portcullis/http';
import type { IdentityProvider } from '../federation/identity-provider.ts';
import type { LoginPurpose } from './login-view.ts';

/** An errand in the browser that sent the request. */
export interface LoginTarget {
  /** The app that waits, or the page of their own account that somebody comes for. */
  readonly purpose: LoginPurpose;
  /** The authorization request that waits; `null`: none does. */
  readonly transactionId: string | null;
  /** What a form carries so that the errand is found again. */
  readonly fields: Readonly<Record<string, string>>;
  /** What forms of this errand in this browser are bound to. */
  readonly binding: readonly string[];
  /** Whether whoever has to be signed in is. */
  readonly isSignedIn: boolean;
  /** Whether they have to show anew who they are, signed in or not. */
  readonly requiresFreshLogin: boolean;
  /** Where one begins again. */
  readonly restartPath: string;
  /** Cookies that the page has to set. */
  readonly cookies: readonly string[];
  /** Goes on, for the person that is signed in. */
  resume(): Promise<HttpResponse>;
  /** Goes on for somebody who has just signed in, by a session whose cookie has to be set, maybe with others. */
  resumeAs(accountId: string, cookies: readonly string[]): Promise<HttpResponse>;
  /** Goes on for somebody who chose to sign in by a third party. */
  startFederatedLogin(identityProvider: IdentityProvider): Promise<HttpResponse>;
}
