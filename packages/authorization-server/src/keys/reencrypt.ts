/** Sealing anew: what is sealed under one sealing key goes into envelopes of another. Whoever was cut off does it again. */
import { ConfigurationError } from '@portcullis/protocol';
import { dataKeyContext, totpSecretContext } from '../encryption/contexts.ts';
import { DecryptionError, type Encryptor } from '../encryption/encryptor.ts';
import type { AuthorizationStore, DataKeyRecord, SigningKeyRecord } from '../store/index.ts';
import { canDecrypt, undecryptableKeyError } from './decryptable.ts';
import { KEY_REFRESH_INTERVAL } from './key-options.ts';
import { reencryptSigningKey } from './signing-key.ts';

/** How often resealing begins again because a server has made a key meanwhile. */
const TRIES = 5;

/**
 * Seals all keys of a store anew, and then the second factors.
 * @returns how many keys
 * @throws ConfigurationError when one of them does not open; then nothing has changed
 */
export async function reencryptStore(
  store: AuthorizationStore,
  from: Encryptor,
  to: Encryptor,
): Promise<number> {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const [records, dataKeys] = await Promise.all([store.listSigningKeys(), store.listDataKeys()]);
    // All are opened before the first is changed.
    const sealed = new Map(records.map((record) => [record.id, sealAnew(record, from, to)]));
    const sealedData = new Map(dataKeys.map((record) => [record.id, sealDataKeyAnew(record, from, to)]));
    if ((await store.reencryptSigningKeys(sealed)) && (await store.reencryptDataKeys(sealedData))) {
      await resealSecondFactors(store, from, to);
      return sealed.size + sealedData.size;
    }
  }
  throw new ConfigurationError([
    `keys are being made by others: try again in ${KEY_REFRESH_INTERVAL} seconds`,
  ]);
}

/** What is sealed under the new key already is sealed under it once more: a second run changes nothing of worth. */
function sealAnew(record: SigningKeyRecord, from: Encryptor, to: Encryptor): Uint8Array {
  try {
    return reencryptSigningKey(record, to.isCurrentKey(record.encryptedPrivateKey) ? to : from, to);
  } catch (error) {
    if (error instanceof DecryptionError) throw undecryptableKeyError(record);
    throw error;
  }
}

/** The data keys, under which everything of third parties rests: sealed anew, they open all of it as before. */
function sealDataKeyAnew({ id, encryptedKey }: DataKeyRecord, from: Encryptor, to: Encryptor): Uint8Array {
  try {
    return to.encrypt(
      (to.isCurrentKey(encryptedKey) ? to : from).decrypt(encryptedKey, dataKeyContext(id)),
      dataKeyContext(id),
    );
  } catch (error) {
    if (error instanceof DecryptionError) throw undecryptableKeyError({ id });
    throw error;
  }
}

/** Second factors of a page. */
const PAGE = 100;

/** Whoever signs in with codes from an app goes on. A secret that nobody can open any more stays as it is. */
async function resealSecondFactors(store: AuthorizationStore, from: Encryptor, to: Encryptor): Promise<void> {
  let page = await store.listTotpFactors('', PAGE);
  while (page.length > 0) {
    for (const { accountId, encryptedSecret } of page) {
      const envelope = Buffer.from(encryptedSecret, 'base64url');
      const place = totpSecretContext(accountId);
      if (to.isCurrentKey(envelope) || !canDecrypt(() => from.decrypt(envelope, place))) continue;
      const anew = Buffer.from(to.encrypt(from.decrypt(envelope, place), place)).toString('base64url');
      await store.reencryptTotpFactor(accountId, encryptedSecret, anew);
    }
    page = await store.listTotpFactors(page.at(-1)?.accountId ?? '', PAGE);
  }
}
