/** The options of encryption: the key that private keys and provider tokens are encrypted under, and former ones. */
import * as z from 'zod';
import { lazy, list, option, optionMeta, type ParsedOf } from '../option-schema/fields.ts';

export const masterKeySchema = lazy(() =>
  z
    .custom<Uint8Array>((value) => value instanceof Uint8Array && value.length === 32)
    .register(optionMeta, { kind: '32 bytes long' }),
);
export const previousMasterKeysSchema = lazy(() => list(masterKeySchema()));

export const encryptionOptions = {
  /** 32 bytes that encrypt private keys and derive refresh tokens. Never in the store. */
  masterKey: option(masterKeySchema, { isRequired: true }),
  /**
   * Former or upcoming master keys: they decrypt what was encrypted under them and derive the successors of earlier refresh
   * tokens, and encrypt nothing.
   */
  previousMasterKeys: option(previousMasterKeysSchema, { default: [] }),
};

/** The options of encryption, read. */
export interface EncryptionOptions extends ParsedOf<typeof encryptionOptions> {}
