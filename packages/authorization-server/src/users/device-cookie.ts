/** Device cookies: prove an earlier login with this browser, so that login throttling lets the owner in during a brute-force attack. */
import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import type { HttpRequest } from '@portcullis/http';
import type { ServerContext } from '../context.ts';
import { deriveKey } from '../encryption/encryptor.ts';
import { defineCookie } from '../http/cookies.ts';
import type { AccountRecord } from '../store/index.ts';

/*
 * The cookie contains up to four marks, newest first, separated by dots; nothing is stored.
 * A mark: device name (12 bytes) | issued at, epoch seconds (4) | HMAC-SHA-256 of both, the account and its password hash (16).
 * It is not a credential: it only allows five failed attempts where unknown browsers are throttled.
 */
const MADE_AT = 12;
const MAC_AT = 16;
const LENGTH = 32;
const FORM = /^[A-Za-z0-9_-]{43}(?:\.[A-Za-z0-9_-]{43}){0,3}$/;

/** Users who share a browser each have a mark; the oldest is dropped. */
const MAX_MARKS = 4;

/** Seconds that a mark is valid without another login: 180 days. */
const LIFETIME = 180 * 86_400;

export type DeviceCookies = ReturnType<typeof createDeviceCookies>;

/**
 * Distinguishes the owner of an account from attackers who guess its password.
 * @see OWASP, Slow Down Online Guessing Attacks with Device Cookies
 */
export function createDeviceCookies(context: Pick<ServerContext, 'clock' | 'options'>) {
  const { clock, options } = context;
  const { issuer, masterKey, previousMasterKeys } = options;
  const cookie = defineCookie(issuer, 'known-browser', FORM);
  const key = keyFrom(masterKey);
  const keys = [key, ...previousMasterKeys.map(keyFrom)];

  const marksIn = (request: HttpRequest) => cookie.read(request)?.split('.') ?? [];
  const isOf = (mark: Buffer, account: AccountRecord | null) =>
    keys.some((one) => timingSafeEqual(macOf(one, mark, account), mark.subarray(MAC_AT))) &&
    clock() - mark.readUInt32BE(MADE_AT) < LIFETIME;

  const make = (account: AccountRecord): string => {
    const mark = randomBytes(LENGTH);
    mark.writeUInt32BE(clock(), MADE_AT);
    macOf(key, mark, account).copy(mark, MAC_AT);
    return mark.toString('base64url');
  };

  return {
    /** Whether a request carries a well-formed device cookie, valid or not. */
    isPresent: (request: HttpRequest): boolean => cookie.read(request) !== null,
    /**
     * The device name, if the cookie is valid for this account and its current password; else `null`. An unknown account costs
     * the same.
     */
    findDevice(request: HttpRequest, account: AccountRecord | null): string | null {
      const marks = marksIn(request).map((text) => Buffer.from(text, 'base64url'));
      const own = marks.find((mark) => isOf(mark, account));
      return own?.toString('base64url', 0, MADE_AT) ?? null;
    },
    /** Issues a mark with a new device name, after a complete login only. @returns the `Set-Cookie` value */
    issue(request: HttpRequest, account: AccountRecord): string {
      const others = marksIn(request).filter((text) => !isOf(Buffer.from(text, 'base64url'), account));
      return cookie.write([make(account), ...others].slice(0, MAX_MARKS).join('.'), LIFETIME);
    },
  };
}

function keyFrom(masterKey: Uint8Array): KeyObject {
  return createSecretKey(deriveKey(masterKey, 'device cookies'));
}

/** The MAC covers the password hash, so that a mark becomes invalid with the password: a reset one may have been stolen. */
function macOf(key: KeyObject, mark: Buffer, account: AccountRecord | null): Buffer {
  return createHmac('sha256', key)
    .update(mark.subarray(0, MAC_AT))
    .update(JSON.stringify([account?.id ?? '', account?.passwordHash ?? '']))
    .digest()
    .subarray(0, LENGTH - MAC_AT);
}
