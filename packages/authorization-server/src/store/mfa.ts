/**
 * The store capability `mfa`: TOTP, recovery codes and passkeys. What a session adds is saved only while that session exists: a reset
 * that ends the session leaves nothing behind that it had begun.
 */

/** A user's TOTP authenticator. Times in epoch seconds. @see RFC 6238 */
export interface TotpFactorRecord {
  readonly accountId: string;
  /** The shared secret, encrypted and in base64url. */
  readonly encryptedSecret: string;
  /** The time step of the last accepted code. */
  readonly lastStep: number;
  readonly createdAt: number;
}

/** A passkey. Times in epoch seconds. @see Web Authentication Level 3 */
export interface PasskeyRecord {
  /** The credential identifier, base64url. */
  readonly id: string;
  readonly accountId: string;
  /** The COSE key, base64url. */
  readonly publicKey: string;
  /** The authenticator's signature counter; 0 for authenticators that do not count. */
  readonly counter: number;
  /** The transports that the browser reported at registration. */
  readonly transports: readonly string[];
  /** The name that the user gave it. */
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

/** TOTP authenticators and recovery codes. */
export interface TotpStore {
  findTotpFactor(accountId: string): Promise<TotpFactorRecord | null>;
  /** A page of TOTP factors, ordered by account, after the account `after`. */
  listTotpFactors(after: string, limit: number): Promise<readonly TotpFactorRecord[]>;
  /** Replaces an encrypted secret if it still equals `from`. @returns `false` when it has changed */
  reencryptTotpFactor(accountId: string, from: string, to: string): Promise<boolean>;
  /**
   * Saves a TOTP factor with its recovery codes (base64url SHA-256 each), replacing what was there. Atomic.
   * @returns `false` when the session has ended
   */
  saveTotpFactor(
    record: TotpFactorRecord,
    recoveryHashes: readonly string[],
    sessionHash: string,
  ): Promise<boolean>;
  /** Accepts the code of a time step. Atomic: rejects a step that was accepted before, and every earlier one. @see RFC 6238 §5.2 */
  consumeTotpStep(accountId: string, step: number): Promise<boolean>;
  /** Uses up a recovery code. Atomic: of concurrent calls one returns `true`. */
  consumeRecoveryCode(accountId: string, hash: string): Promise<boolean>;
  /** Replaces all recovery codes (base64url SHA-256 each). Atomic. @returns `false` without a TOTP factor, or when the session has ended */
  replaceRecoveryCodes(accountId: string, hashes: readonly string[], sessionHash: string): Promise<boolean>;
  countRecoveryCodes(accountId: string): Promise<number>;
  /** Removes the TOTP factor and its recovery codes. @returns `false` when there is none */
  removeTotpFactor(accountId: string): Promise<boolean>;
}

/** Passkeys of accounts. */
export interface PasskeyStore {
  /** Atomic. @returns `false` when the identifier is taken, or the session has ended: nothing has changed then */
  addPasskey(passkey: PasskeyRecord, sessionHash: string): Promise<boolean>;
  findPasskey(id: string): Promise<PasskeyRecord | null>;
  /** The passkeys of an account, oldest first. */
  listPasskeys(accountId: string): Promise<readonly PasskeyRecord[]>;
  /**
   * Records a use. Atomic: the counter has to rise, unless it is and was 0. @returns `false` when it did not rise (a cloned
   * authenticator, perhaps) or the passkey is gone: nothing has changed then
   * @see Web Authentication Level 3 §6.1.1
   */
  recordPasskeyUse(id: string, counter: number, at: number): Promise<boolean>;
  /** Removes a passkey of this account. @returns `false` when there is none */
  removePasskey(accountId: string, id: string): Promise<boolean>;
}

/** Second factors of local accounts: TOTP, recovery codes and passkeys. @see RFC 6238 */
export interface MfaStore extends TotpStore, PasskeyStore {}
