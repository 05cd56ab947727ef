/** Sealing anew: what is sealed under one sealing key goes into envelopes of another. Whoever was cut off does it again. */
import { ConfigurationError } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { DataKeyRecord, SigningKeyRecord } from '../store/index.ts';
import { cannotOpen, canOpen } from './envelopes.ts';
import { KEYS_NOTICED_WITHIN } from './key-options.ts';
import { dataKeyPlace, secondFactorPlace } from './places.ts';
import { type Sealer, SealingError } from './sealing.ts';
import { resealKey } from './signing-keys.ts';

type Store = Configuration['store'];

/** How often resealing begins again because a server has made a key meanwhile. */
const TRIES = 5;

/**
 * Seals all keys of a store anew, and then the second factors.
 * @returns how many keys
 * @throws ConfigurationError when one of them does not open; then nothing has changed
 */
export async function resealStore(store: Store, from: Sealer, to: Sealer): Promise<number> {
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
    `keys are being made by others: try again in ${KEYS_NOTICED_WITHIN} seconds`,
  ]);
}

/** What is sealed under the new key already is sealed under it once more: a second run changes nothing of worth. */
function sealAnew(record: SigningKeyRecord, from: Sealer, to: Sealer): Uint8Array {
  try {
    return resealKey(record, to.isOwn(record.encryptedPrivateKey) ? to : from, to);
  } catch (error) {
    if (error instanceof SealingError) throw cannotOpen(record);
    throw error;
  }
}

/** The data keys, under which everything of third parties rests: sealed anew, they open all of it as before. */
function sealDataKeyAnew({ id, encryptedKey }: DataKeyRecord, from: Sealer, to: Sealer): Uint8Array {
  try {
    return to.seal(
      (to.isOwn(encryptedKey) ? to : from).unseal(encryptedKey, dataKeyPlace(id)),
      dataKeyPlace(id),
    );
  } catch (error) {
    if (error instanceof SealingError) throw cannotOpen({ id });
    throw error;
  }
}

/** Second factors of a page. */
const PAGE = 100;

/** Whoever signs in with codes from an app goes on. A secret that nobody can open any more stays as it is. */
async function resealSecondFactors(store: Store, from: Sealer, to: Sealer): Promise<void> {
  let page = await store.listTotpFactors('', PAGE);
  while (page.length > 0) {
    for (const { accountId, encryptedSecret } of page) {
      const envelope = Buffer.from(encryptedSecret, 'base64url');
      const place = secondFactorPlace(accountId);
      if (to.isOwn(envelope) || !canOpen(() => from.unseal(envelope, place))) continue;
      const anew = Buffer.from(to.seal(from.unseal(envelope, place), place)).toString('base64url');
      await store.reencryptTotpFactor(accountId, encryptedSecret, anew);
    }
    page = await store.listTotpFactors(page.at(-1)?.accountId ?? '', PAGE);
  }
}
