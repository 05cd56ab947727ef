/** What a store must do for signing keys. */

/** A signing key. The private part is sealed under a key that is not in the store. Times in epoch seconds. */
export interface SigningKeyRecord {
  /** The `kid`. */
  readonly id: string;
  readonly algorithm: string;
  /** The public JWK as JSON. */
  readonly publicJwk: string;
  /** The sealed private key (PKCS #8). */
  readonly encryptedPrivateKey: Uint8Array;
  readonly createdAt: number;
  /** Published before, it signs from then on, until the next one does. */
  readonly signsFrom: number;
}

export interface SigningKeyStore {
  /** All keys, newest first. */
  listSigningKeys(): Promise<readonly SigningKeyRecord[]>;
  /**
   * Inserts a key if the newest there is is still that one (`null`: if there is none). One fact: of racing processes one
   * inserts. Answers all keys there are then, newest first.
   */
  addSigningKey(key: SigningKeyRecord, after: string | null): Promise<readonly SigningKeyRecord[]>;
  /** Removes keys for good. */
  removeSigningKeys(ids: readonly string[]): Promise<void>;
  /**
   * Replaces the sealed private keys, by the identifiers of their keys. One fact: all of them, or nothing and `false` when
   * there are other keys than these.
   */
  reencryptSigningKeys(sealed: ReadonlyMap<string, Uint8Array>): Promise<boolean>;
}
