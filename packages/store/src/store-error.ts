/** Why a store cannot be opened: one sentence that tells the operator what to do, without the name of any setting. */

export class StoreError extends Error {
  override readonly name: string = 'StoreError';
}
