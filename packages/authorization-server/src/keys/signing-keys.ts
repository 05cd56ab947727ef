/** The signing keys: made once, kept sealed, published without their private parts. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto';
import { type Configuration, ConfigurationError } from '../configuration.ts';
import type { KeyRecord } from '../ports/index.ts';
import { newIdentifier } from '../secrets.ts';
import { createSealer, type Sealer, SealingError } from './sealing.ts';

/** A public key as it is published. @see RFC 7517 §4 */
export interface PublicJwk {
  readonly kty: string;
  readonly crv: string;
  readonly x: string;
  readonly y: string;
  readonly kid: string;
  readonly alg: string;
  readonly use: string;
}

/** A key of this server. */
export interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly publicJwk: PublicJwk;
}

/** At least one key, the one to sign with first. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

/** The algorithm of the keys that this server makes. */
export const SIGNING_ALGORITHM = 'ES256';

/**
 * Loads the keys; makes the first one when there is none.
 * @throws ConfigurationError when they are sealed under another key.
 */
export async function loadSigningKeys({
  store,
  sealingKey,
  clock,
  events,
}: Pick<Configuration, 'store' | 'sealingKey' | 'clock' | 'events'>): Promise<SigningKeys> {
  const sealer = createSealer(sealingKey);
  let records = await store.listKeys();
  if (records.length === 0) {
    const made = makeKey(sealer, clock());
    records = await store.saveFirstKey(made);
    if (records[0]?.id === made.id) events({ type: 'key.created' });
  }
  const [first, ...others] = records.map((record) => openKey(record, sealer));
  if (first === undefined) throw new Error('The store kept no signing key.');
  return [first, ...others];
}

function makeKey(sealer: Sealer, now: number): KeyRecord {
  const id = newIdentifier('key');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  return {
    id,
    algorithm: SIGNING_ALGORITHM,
    publicJwk: JSON.stringify(publish(publicKey.export({ format: 'jwk' }), id)),
    sealedPrivateKey: sealer.seal(pkcs8, placeOf(id)),
    createdAt: now,
  };
}

/** Names the members one by one, so that no private one can slip through. */
function publish({ kty = '', crv = '', x = '', y = '' }: JsonWebKey, kid: string): PublicJwk {
  return { kty, crv, x, y, kid, alg: SIGNING_ALGORITHM, use: 'sig' };
}

function openKey(record: KeyRecord, sealer: Sealer): SigningKey {
  try {
    const der = sealer.unseal(record.sealedPrivateKey, placeOf(record.id));
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const publicKey = createPublicKey(privateKey);
    return {
      id: record.id,
      privateKey,
      publicKey,
      publicJwk: publish(publicKey.export({ format: 'jwk' }), record.id),
    };
  } catch (error) {
    if (error instanceof SealingError) throw new ConfigurationError([sealingFault(error)]);
    throw error;
  }
}

function sealingFault({ fault }: SealingError): string {
  return fault === 'other-key'
    ? 'sealingKey is not the key under which the signing keys in this store were sealed: give that one back, or start with an empty store'
    : 'the sealed signing keys in this store are damaged: restore the store from a backup';
}

function placeOf(keyId: string): string {
  return `signing key ${keyId}`;
}
