/** What a store must do for codes from an app as a second factor, and for the codes that help when the app is lost. */

/** The second factor of an account. Times in epoch seconds. */
export interface TotpFactorRecord {
  readonly accountId: string;
  /** The shared secret, sealed and in base64url. */
  readonly encryptedSecret: string;
  /** The time step of the last code that was taken. */
  readonly lastStep: number;
  readonly createdAt: number;
}

export interface TotpStore {
  findTotpFactor(accountId: string): Promise<TotpFactorRecord | null>;
  /** In the order of accounts: those behind `after`, at most `limit`. */
  listTotpFactors(after: string, limit: number): Promise<readonly TotpFactorRecord[]>;
  /** Puts an envelope in the place of the one that was there. @returns `false` when another one is there by now */
  reencryptTotpFactor(accountId: string, from: string, to: string): Promise<boolean>;
  /** Keeps a second factor with its recovery codes (base64url SHA-256 each), in the place of what was there. One fact. */
  saveTotpFactor(record: TotpFactorRecord, recoveryHashes: readonly string[]): Promise<void>;
  /** Takes the code of a time step. One fact: no step is taken twice, and none before one that was. */
  consumeTotpStep(accountId: string, step: number): Promise<boolean>;
  /** Spends a recovery code. One fact: of racing calls one answers `true`. */
  consumeRecoveryCode(accountId: string, hash: string): Promise<boolean>;
  /** Keeps recovery codes (base64url SHA-256 each) in the place of what is left. One fact. @returns `false` without a second factor */
  replaceRecoveryCodes(accountId: string, hashes: readonly string[]): Promise<boolean>;
  countRecoveryCodes(accountId: string): Promise<number>;
  /** Removes the second factor and its recovery codes. @returns `false` when there is none */
  removeTotpFactor(accountId: string): Promise<boolean>;
}
