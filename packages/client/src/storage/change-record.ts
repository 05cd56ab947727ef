/** Changing one record of a credential store while nobody else who shares it does. */
import {
  type CredentialKey,
  type CredentialRecord,
  type CredentialStore,
  keyText,
} from './credential-store.ts';

/** Reads a record, and holds the lock of its key until the change is done; `null`: there is none yet. */
export async function changeRecord<T>(
  store: CredentialStore,
  key: CredentialKey,
  change: (record: CredentialRecord | null) => Promise<T>,
): Promise<T> {
  const release = await store.lock(`refresh ${keyText(key)}`);
  try {
    return await change(await store.find(key));
  } finally {
    await release();
  }
}
