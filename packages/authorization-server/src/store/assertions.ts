/** What a store must do for assertions by which clients authenticate: each works once. */

export interface AssertionStore {
  /**
   * Spends an assertion. One fact: of any number of racing calls, in any number of processes, one answers `true`.
   * @param hash base64url SHA-256 of what makes the assertion unique
   * @param expiresAt epoch seconds after which nobody could accept it anyway, and it may be forgotten
   */
  consumeClientAssertion(hash: string, expiresAt: number): Promise<boolean>;
}
