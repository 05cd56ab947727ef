/** Invitations: initial access tokens that an administrator makes, each for one registration. Nothing is stored until one is used. */
import { createHmac, randomBytes } from 'node:crypto';
import type { AuthorizationServerOptions } from '../configuration.ts';
import { hashSecret, isSame } from '../secrets.ts';

/** An invitation that was presented, and is one of ours. */
export interface Invitation {
  /** What makes it unique: base64url SHA-256. */
  readonly hash: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** Makes invitations, and knows them again. */
export interface Invitations {
  /** A bearer token. @param expiresAt epoch seconds */
  make(expiresAt: number): string;
  /** The invitation of a token; `null` when it is none of ours, or its time is over. */
  read(token: string, now: number): Invitation | null;
}

const FORM = /^(invitation\.([0-9a-z]{1,12})\.[\w-]{22})\.([\w-]{43})$/;

/** Whoever has the sealing key may invite: a key derived from it signs. */
export function createInvitations({
  sealingKey,
  previousSealingKeys = [],
}: Pick<AuthorizationServerOptions, 'sealingKey' | 'previousSealingKeys'>): Invitations {
  const keys = [sealingKey, ...previousSealingKeys].map((key) =>
    createHmac('sha256', key).update('portcullis invitations').digest(),
  );
  return {
    make(expiresAt) {
      const text = `invitation.${expiresAt.toString(36)}.${randomBytes(16).toString('base64url')}`;
      return `${text}.${sign(keys[0] ?? sealingKey, text)}`;
    },
    read(token, now) {
      const [, text = '', end = '', signature = ''] = FORM.exec(token) ?? [];
      const expiresAt = Number.parseInt(end, 36);
      if (!(now < expiresAt) || !keys.some((key) => isSame(sign(key, text), signature))) return null;
      return { hash: hashSecret(token), expiresAt };
    },
  };
}

function sign(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}
