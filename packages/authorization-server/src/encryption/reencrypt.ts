/** Re-encrypts everything in the store that is encrypted under the master key. If it is interrupted, it can be run again. */
import { ConfigurationError } from '@portcullis/protocol';
import type { AuthorizationStore as Store } from '../store/index.ts';
import {
  DecryptionError,
  dataKeyContext,
  type Encryptor,
  signingKeyContext,
  totpSecretContext,
} from './encryptor.ts';

/** How often it starts over because a server has created a key in the meantime. */
const TRIES = 5;

/**
 * Re-encrypts all signing keys and data keys, then the TOTP secrets. What data keys encrypted stays as it is.
 * @returns the number of keys
 * @throws ConfigurationError if one of the keys cannot be decrypted; then nothing has changed
 */
export async function reencryptStore(store: Store, from: Encryptor, to: Encryptor): Promise<number> {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const [signingKeys, dataKeys] = await Promise.all([store.listSigningKeys(), store.listDataKeys()]);
    // All keys are decrypted before the first one is changed.
    const reencrypt = (id: string, ciphertext: Uint8Array, context: string) =>
      [id, reencryptKey(id, ciphertext, context, from, to)] as const;
    const signing = new Map(
      signingKeys.map(({ id, encryptedPrivateKey }) =>
        reencrypt(id, encryptedPrivateKey, signingKeyContext(id)),
      ),
    );
    const data = new Map(
      dataKeys.map(({ id, encryptedKey }) => reencrypt(id, encryptedKey, dataKeyContext(id))),
    );
    if ((await store.reencryptSigningKeys(signing)) && (await store.reencryptDataKeys(data))) {
      await reencryptTotpSecrets(store, from, to);
      return signing.size + data.size;
    }
  }
  throw new ConfigurationError(['other processes are creating keys: try again in a minute']);
}

/** A key that is already encrypted under the new master key is encrypted under it again, so a second run is harmless. */
function reencryptKey(
  id: string,
  ciphertext: Uint8Array,
  context: string,
  from: Encryptor,
  to: Encryptor,
): Uint8Array {
  try {
    return to.encrypt((to.isCurrentKey(ciphertext) ? to : from).decrypt(ciphertext, context), context);
  } catch (error) {
    if (error instanceof DecryptionError) throw undecryptableKeyError({ id });
    throw error;
  }
}

/** TOTP secrets read at a time. */
const PAGE_SIZE = 100;

/** Users with TOTP can go on signing in. A secret that cannot be decrypted any more stays as it is. */
async function reencryptTotpSecrets(store: Store, from: Encryptor, to: Encryptor): Promise<void> {
  let page = await store.listTotpFactors('', PAGE_SIZE);
  while (page.length > 0) {
    for (const { accountId, encryptedSecret } of page) {
      const context = totpSecretContext(accountId);
      const secret = from.decryptText(encryptedSecret, context);
      if (to.isCurrentKey(Buffer.from(encryptedSecret, 'base64url')) || secret === null) continue;
      await store.reencryptTotpFactor(accountId, encryptedSecret, to.encryptText(secret, context));
    }
    page = await store.listTotpFactors(page.at(-1)?.accountId ?? '', PAGE_SIZE);
  }
}

/** Whether decrypting succeeds; errors other than `DecryptionError` are thrown. */
export function canDecrypt(decrypt: () => unknown): boolean {
  try {
    decrypt();
    return true;
  } catch (error) {
    if (error instanceof DecryptionError) return false;
    throw error;
  }
}

/** The error for a key that the master key does not decrypt. */
export function undecryptableKeyError({ id }: { readonly id: string }): ConfigurationError {
  return new ConfigurationError([
    `masterKey does not decrypt ${id}: provide the master key it was encrypted under`,
  ]);
}
