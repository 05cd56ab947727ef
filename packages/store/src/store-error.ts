/** Why a store cannot be opened: one sentence that tells the operator what to do, without the name of any setting. */

/** A store cannot be opened. Its message is meant for the operator. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError';
}
