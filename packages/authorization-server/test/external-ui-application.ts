/** An application with an external UI, as the authorization server sees it: signs requests and returns decisions. */
import { createHash, createHmac, randomBytes } from 'node:crypto';

export const SECRET = 'the application and the server know it';

export interface Signed {
  readonly issuer: string;
  readonly path: string;
  readonly body: string;
  readonly secret?: string;
  /** Epoch seconds. */
  readonly at: number;
  readonly nonce?: string;
}

/** The header of a signed request, as documented. */
export function signatureOf({ issuer, path, body, secret = SECRET, at, nonce }: Signed): string {
  const chosen = nonce ?? randomBytes(16).toString('base64url');
  const digest = createHash('sha256').update(body).digest('base64url');
  const text = ['portcullis-headless-1', issuer, path, at, chosen, digest].join('\n');
  const mac = createHmac('sha256', secret).update(text).digest('base64url');
  return `t=${at},n=${chosen},v1=${mac}`;
}
