/** What a host provides for a sign-in: the user's browser, and a receiver for its redirect. */

/** Opens the user's browser. It must never ask for a password itself. */
export interface Browser {
  /**
   * @param url an https URL, or http on a loopback address; never anything else.
   * @param redirectUri where the browser returns, which the URL of a pushed request does not show
   * @param shortUrl a short address on this computer that redirects to the URL, to show the user; absent without one
   * @param onceUrl another one that works once, for programs whose arguments other users of this computer can read
   */
  open(url: string, redirectUri?: string, shortUrl?: string, onceUrl?: string): Promise<void>;
}

/** What the user sees after the redirect. */
export interface SignInOutcome {
  /** Whether the user is signed in. */
  readonly ok: boolean;
  /** Text for the user. */
  readonly message: string;
}

/** A redirect that arrived. */
export interface ReceivedRedirect {
  /** The parameters of the authorization response. @see RFC 6749 §4.1.2 */
  readonly query: URLSearchParams;
  /** Shows the user the outcome. */
  respond(outcome: SignInOutcome): Promise<void>;
}

/** Listens for one redirect. */
export interface RedirectListener {
  /** The redirect URI it listens at. */
  readonly redirectUri: string;
  /**
   * Waits for the redirect with this state. Redirects with another state, or without one, are rejected.
   * @param browserOpened resolves once the user's browser was opened
   */
  waitForRedirect(state: string, browserOpened: Promise<void>): Promise<ReceivedRedirect>;
  /**
   * Redirects from a short address of the listener, which cannot be guessed.
   * @param once whether the address works once
   * @returns the address
   */
  shorten?(url: string, once?: boolean): string;
  /** Stops listening. */
  close(): Promise<void>;
}

/** Receives the redirect of the user's browser. */
export interface Receiver {
  /**
   * Starts to listen.
   * @param preferred redirect URIs that are already registered: the first one that can be used is used.
   */
  listen(preferred: readonly string[]): Promise<RedirectListener>;
}
