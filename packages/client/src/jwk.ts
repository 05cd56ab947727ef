/** A private key of an elliptic curve as JSON, for keeping it beside its token. */
export interface PrivateEcJwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  /** The private part. */
  readonly d: string;
}
