/** What becomes of a backend's messages on their way to the client of one request. */
export interface MessageEdit {
  /** Whether the client may receive a message: the rules may hide the resource whose change it reports. */
  readonly mayReport: (message: unknown) => boolean;
  /** A message as the rules show it, such as a list without hidden tools; the same one if nothing changes. @throws BackendError, OAuthError */
  readonly filter: <T>(message: T) => T | Promise<T>;
  /** A message with its identifiers sealed; the same one if it has none. */
  readonly seal: (message: unknown) => unknown;
}
