/** Which stored keys a sealing key opens. */
import { ConfigurationError } from '@portcullis/protocol';
import type { DataKeyRecord, SigningKeyRecord } from '../store/index.ts';
import { dataKeyPlace } from './places.ts';
import { type Sealer, SealingError } from './sealing.ts';
import { openKey } from './signing-keys.ts';

/** Whether a key that signs opens. */
export function opensKey(record: SigningKeyRecord, sealer: Sealer): boolean {
  return canOpen(() => openKey(record, sealer));
}

/** Whether a key opens that seals what third parties gave. */
export function opensDataKey({ id, encryptedKey }: DataKeyRecord, sealer: Sealer): boolean {
  return canOpen(() => sealer.unseal(encryptedKey, dataKeyPlace(id)));
}

/** Whether something opens; what goes wrong besides is thrown. */
export function canOpen(open: () => unknown): boolean {
  try {
    open();
    return true;
  } catch (error) {
    if (error instanceof SealingError) return false;
    throw error;
  }
}

/** What an operator is told of a key that does not open. */
export function cannotOpen({ id }: Pick<SigningKeyRecord, 'id'>): ConfigurationError {
  return new ConfigurationError([`sealingKey does not open ${id}: give the key under which it was sealed`]);
}
