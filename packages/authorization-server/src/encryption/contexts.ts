/** Where sealed things belong: an envelope opens at its own place only, so that none can be put in the place of another. */

/** A private key that signs. */
export function signingKeyContext(keyId: string): string {
  return `signing key ${keyId}`;
}

/** A key that seals what third parties gave. */
export function dataKeyContext(id: string): string {
  return `data-key ${id}`;
}

/** The secret that an account shares with an app that shows codes. */
export function totpSecretContext(accountId: string): string {
  return `second factor ${accountId}`;
}
