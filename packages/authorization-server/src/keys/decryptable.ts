/** Which stored keys a sealing key opens. */
import { ConfigurationError } from '@portcullis/protocol';
import { dataKeyContext } from '../encryption/contexts.ts';
import { DecryptionError, type Encryptor } from '../encryption/encryptor.ts';
import type { DataKeyRecord, SigningKeyRecord } from '../store/index.ts';
import { decryptSigningKey } from './signing-key.ts';

/** Whether a key that signs opens. */
export function canDecryptKey(record: SigningKeyRecord, sealer: Encryptor): boolean {
  return canDecrypt(() => decryptSigningKey(record, sealer));
}

/** Whether a key opens that seals what third parties gave. */
export function canDecryptDataKey({ id, encryptedKey }: DataKeyRecord, sealer: Encryptor): boolean {
  return canDecrypt(() => sealer.decrypt(encryptedKey, dataKeyContext(id)));
}

/** Whether something opens; what goes wrong besides is thrown. */
export function canDecrypt(open: () => unknown): boolean {
  try {
    open();
    return true;
  } catch (error) {
    if (error instanceof DecryptionError) return false;
    throw error;
  }
}

/** What an operator is told of a key that does not open. */
export function undecryptableKeyError({ id }: Pick<SigningKeyRecord, 'id'>): ConfigurationError {
  return new ConfigurationError([`masterKey does not open ${id}: give the key under which it was sealed`]);
}
