/**
 * Lets the hash of a password cost 1 ms instead of 60: a run computes 1,200 of them, more than anything else it does. Only the
 * memory of hashes at the product's own cost is reduced; their text, and all that the product does, stay as they are.
 * `useRealPasswordHashes()` is for tests of the cost itself. Processes that tests start compute real hashes.
 */
import crypto, { type Argon2Algorithm, type Argon2Parameters } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';

/** The product's, in `packages/authorization-server/src/users/passwords.ts`; any other cost is left alone. */
const PRODUCT_MEMORY = 47_104;
/** In KiB, the least that RFC 9106 allows for one lane. */
const CHEAP_MEMORY = 8;

type Argon2 = typeof crypto.argon2;

// Files that share a process share this module's state, but not the module.
const REAL = Symbol.for('portcullis.test.argon2');
const globals = globalThis as { [REAL]?: Argon2 };
globals[REAL] ??= crypto.argon2;
const real = globals[REAL];

const cheap = (
  algorithm: Argon2Algorithm,
  parameters: Argon2Parameters,
  callback: (error: Error | null, tag: Buffer) => void,
) => {
  const isProduct = parameters.memory === PRODUCT_MEMORY;
  real(algorithm, isProduct ? { ...parameters, memory: CHEAP_MEMORY } : parameters, callback);
};

Object.assign(crypto, { argon2: cheap });

/** In this file, hashes cost what they cost in production. */
export function useRealPasswordHashes(): void {
  beforeAll(() => {
    Object.assign(crypto, { argon2: real });
  });
  afterAll(() => {
    Object.assign(crypto, { argon2: cheap });
  });
}
