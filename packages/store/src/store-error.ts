/** A store cannot be opened. The message tells the operator what to do, without naming a setting. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError';
}
