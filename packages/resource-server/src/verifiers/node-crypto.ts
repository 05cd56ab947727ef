/** `node:crypto`, if the runtime has it; others have only WebCrypto. */
import type * as NodeCrypto from 'node:crypto';

export const nodeCrypto: typeof NodeCrypto | undefined =
  globalThis.process?.getBuiltinModule?.('node:crypto');
