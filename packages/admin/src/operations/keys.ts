/** Operations on signing keys. */
import type { ListedKey } from '@portcullis/authorization-server';
import { ConfigurationError } from '@portcullis/authorization-server';
import { type AdminRequest, recordChange } from './administration.ts';
import { OperationError } from './errors.ts';

/** @returns all keys, the new one first */
export async function rotateKey(
  request: AdminRequest,
  replacement: 'in-time' | 'at-once' | 'compromised',
): Promise<readonly ListedKey[]> {
  const { admin } = request;
  const states = (keys: readonly ListedKey[]) => keys.map(({ id, state }) => ({ id, state }));
  const before = await admin.keys.list();
  const after = await admin.keys.rotate(replacement).catch((error: unknown) => {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new OperationError('conflict', error.issues.join('; '), { cause: error });
  });
  recordChange(request, 'keys.rotate', after[0]?.id ?? '', { before: states(before), after: states(after) });
  return after;
}
