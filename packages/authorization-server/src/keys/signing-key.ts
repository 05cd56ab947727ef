/** Signing keys: generated, encrypted for the store, and decrypted for use. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { ACCESS_TOKEN_TYPE } from '@portcullis/protocol';
import { DecryptionError, type Encryptor, signingKeyContext } from '../encryption/encryptor.ts';
import { newIdentifier } from '../secrets.ts';
import type { SigningKeyRecord } from '../store/index.ts';
import {
  findSigningAlgorithm,
  type PublicJwk,
  type SigningAlgorithm,
  toPublicJwk,
} from './signing-algorithms.ts';

/** A key of this server. */
export interface SigningKey {
  readonly id: string;
  readonly algorithm: SigningAlgorithm;
  readonly publicJwk: PublicJwk;
  /** Epoch seconds. */
  readonly signsFrom: number;
  /** The header of every access token that it signs, base64url. */
  readonly header: string;
  sign(input: string): Buffer;
  verify(input: string, signature: Buffer): boolean;
}

/** Signs a JWT. @param type of its header */
export function signJwt({ id, algorithm, sign }: SigningKey, type: string, claims: object): string {
  const input = [{ alg: algorithm, typ: type, kid: id }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${input}.${sign(input).toString('base64url')}`;
}

/**
 * Generates a key pair. It is created later than the known keys, even within one second or after a clock that was ahead, and starts to
 * sign in a second of its own, so that their order is unambiguous.
 * @param known newest first
 * @param signsFrom epoch seconds
 */
export async function generateSigningKey(
  algorithm: SigningAlgorithm,
  encryptor: Encryptor,
  known: readonly SigningKeyRecord[],
  now: number,
  signsFrom: number,
): Promise<SigningKeyRecord> {
  let free = signsFrom;
  while (known.some((key) => key.signsFrom === free)) free += 1;
  const id = newIdentifier('key');
  const privateKey = await algorithmOf(algorithm).generate();
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  return {
    id,
    algorithm,
    publicJwk: JSON.stringify(toPublicJwk(privateKey, algorithm, id)),
    encryptedPrivateKey: encryptor.encrypt(pkcs8, signingKeyContext(id)),
    createdAt: Math.max(now, (known[0]?.createdAt ?? -1) + 1),
    signsFrom: free,
  };
}

/**
 * Decrypts a key. The public key is derived from the private one, so write access to the store is not enough to plant a key.
 * @throws DecryptionError if it was encrypted under another key or is damaged
 */
export function decryptSigningKey(record: SigningKeyRecord, encryptor: Encryptor): SigningKey {
  const algorithm = record.algorithm as SigningAlgorithm;
  const { sign, verify } = algorithmOf(algorithm);
  const privateKey = readPrivateKey(
    encryptor.decrypt(record.encryptedPrivateKey, signingKeyContext(record.id)),
  );
  const publicKey = createPublicKey(privateKey);
  return {
    id: record.id,
    algorithm,
    publicJwk: toPublicJwk(privateKey, algorithm, record.id),
    signsFrom: record.signsFrom,
    header: headerOf(algorithm, record.id),
    sign: (input) => sign(input, privateKey),
    verify: (input, signature) => verify(input, signature, publicKey),
  };
}

function readPrivateKey(der: Buffer): KeyObject {
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

function algorithmOf(name: string): NonNullable<ReturnType<typeof findSigningAlgorithm>> {
  const algorithm = findSigningAlgorithm(name);
  if (algorithm === undefined) throw new DecryptionError('damaged');
  return algorithm;
}

/** MUST be of type `at+jwt`, and name an algorithm other than `none`. @see RFC 9068 §2.1 */
function headerOf(alg: SigningAlgorithm, kid: string): string {
  return Buffer.from(JSON.stringify({ alg, typ: ACCESS_TOKEN_TYPE, kid })).toString('base64url');
}
