/** Where the person's browser is, and where its answer arrives: the two things that a host has to lend. */

/** Sends the person's browser to an address. It never asks for a password itself. */
export interface Browser {
  /** @param url an https address, or http on this computer; nothing else is ever given. */
  open(url: string): Promise<void>;
}

/** What the person is to read when the answer was dealt with. */
export interface SignInOutcome {
  readonly ok: boolean;
  readonly message: string;
}

/** An answer that has arrived. */
export interface ReceivedRedirect {
  readonly query: URLSearchParams;
  /** Tells the person how it went. */
  respond(outcome: SignInOutcome): Promise<void>;
}

/** An open ear for one answer. */
export interface RedirectListener {
  readonly redirectUri: string;
  /**
   * Waits for the answer with this state. Answers with another, or with none, are turned away.
   * @param opened resolves once the person's browser was opened
   */
  waitForRedirect(state: string, opened: Promise<void>): Promise<ReceivedRedirect>;
  /** Stops listening. */
  close(): Promise<void>;
}

/** Where the answer of a browser is received. */
export interface Receiver {
  /**
   * Starts to listen.
   * @param preferred redirect URIs that are registered already: the first that can be served is used.
   */
  listen(preferred: readonly string[]): Promise<RedirectListener>;
}
