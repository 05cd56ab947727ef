/** Signing keys in the core store. */

/** A signing key. The private key is encrypted under a master key that is not in the store. Times in epoch seconds. */
export interface SigningKeyRecord {
  /** The `kid`. */
  readonly id: string;
  /** JOSE algorithm name. @see RFC 7518 §3.1 */
  readonly algorithm: string;
  /** The public JWK as JSON. */
  readonly publicJwk: string;
  /** The encrypted private key (PKCS #8). */
  readonly encryptedPrivateKey: Uint8Array;
  readonly createdAt: number;
  /** Published earlier, it signs from then on, until the next key does. */
  readonly signsFrom: number;
}

/** The signing keys of the issuer. @see RFC 7517 §5 */
export interface SigningKeyStore {
  /** All keys, newest first. */
  listSigningKeys(): Promise<readonly SigningKeyRecord[]>;
  /**
   * Inserts a key if the newest one is still `after` (`null`: if there is none). Atomic: of concurrent processes one inserts.
   * @returns all keys, newest first
   */
  addSigningKey(key: SigningKeyRecord, after: string | null): Promise<readonly SigningKeyRecord[]>;
  /** Deletes the keys with these identifiers; ignores unknown ones. */
  removeSigningKeys(ids: readonly string[]): Promise<void>;
  /**
   * Replaces the encrypted private keys, by key identifier. Atomic: all of them, or nothing and `false` when the stored keys
   * are not exactly these.
   */
  reencryptSigningKeys(encrypted: ReadonlyMap<string, Uint8Array>): Promise<boolean>;
}
