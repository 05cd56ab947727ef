/** What a store must do for the passkeys of accounts. */

/** A passkey. Times in epoch seconds. */
export interface PasskeyRecord {
  /** The credential's identifier, base64url as browsers send it. */
  readonly id: string;
  readonly accountId: string;
  /** The COSE key, base64url. */
  readonly publicKey: string;
  /** How often its authenticator says that it was used; 0 from those that do not count. */
  readonly counter: number;
  /** How browsers reach it, as they said when it was made. */
  readonly transports: readonly string[];
  /** What its owner calls it. */
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

export interface PasskeyStore {
  /** @returns `false` when there is one with this identifier already: nothing has changed then */
  addPasskey(passkey: PasskeyRecord): Promise<boolean>;
  findPasskey(id: string): Promise<PasskeyRecord | null>;
  /** The passkeys of an account, oldest first. */
  listPasskeys(accountId: string): Promise<readonly PasskeyRecord[]>;
  /**
   * Notes a use. One fact: the counter only ever rises, unless it is 0 and always was. @returns `false` when it did not rise,
   * so that there may be a copy, or the passkey is gone: nothing has changed then
   */
  recordPasskeyUse(id: string, counter: number, at: number): Promise<boolean>;
  /** Removes a passkey of this account. @returns `false` when there is none */
  removePasskey(accountId: string, id: string): Promise<boolean>;
}
