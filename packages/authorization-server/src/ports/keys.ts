/** What a store must do for signing keys. */

/** A signing key. The private part is sealed under a key that is not in the store. Times in epoch seconds. */
export interface KeyRecord {
  /** The `kid`. */
  readonly id: string;
  readonly algorithm: string;
  /** The public JWK as JSON. */
  readonly publicJwk: string;
  /** The sealed private key (PKCS #8). */
  readonly sealedPrivateKey: Uint8Array;
  readonly createdAt: number;
}

export interface KeyStore {
  /** All keys, newest first. */
  listKeys(): Promise<readonly KeyRecord[]>;
  /** Inserts a key if there is none yet. One fact: of racing processes one inserts. Answers all keys there are then. */
  saveFirstKey(key: KeyRecord): Promise<readonly KeyRecord[]>;
}
