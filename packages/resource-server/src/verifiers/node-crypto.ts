/** Node's own cryptography, where there is one: other runtimes have WebCrypto alone. */
import type * as NodeCrypto from 'node:crypto';

export const nodeCrypto: typeof NodeCrypto | undefined =
  globalThis.process?.getBuiltinModule?.('node:crypto');
