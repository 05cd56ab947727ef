/** An authenticator app (TOTP), and what it reads on our pages. */
import { hotp } from '../src/users/totp.ts';
import type { Sight } from './visitor.ts';

/** The current six digits, from the secret on the page. */
export function codeOf(secret: string, now: number): string {
  const bits = [...secret]
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return hotp(Uint8Array.from(bytes), Math.floor(now / 30));
}

/** The secret in text form, for users without a camera. */
export function secretOn({ html }: Sight): string {
  return (/app: <code>([^<]+)<\/code>/.exec(html)?.[1] ?? '').replaceAll(' ', '');
}

export function recoveryCodesOn({ html }: Sight): readonly string[] {
  return [...html.matchAll(/<li><code>([^<]+)<\/code>/g)].map(([, code = '']) => code);
}
