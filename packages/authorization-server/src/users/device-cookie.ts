/** Browsers that somebody signed in with before: a cookie tells, so nothing is stored, and every process and the next start know. */
import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import type { HttpRequest } from '@portcullis/http';
import type { Configuration } from '../configuration.ts';
import { defineCookie } from '../cookies.ts';
import { deriveKey } from '../encryption/encryptor.ts';
import type { AccountRecord } from '../store/index.ts';

/*
 * The cookie: up to four marks, the newest first, with a dot between them.
 * A mark: name (12 bytes) | when it was made, epoch seconds (4) | HMAC-SHA-256 of both, the account and its password hash (16).
 * It is no credential: who has one may fail five times where others wait, and that is all.
 */
const MADE_AT = 12;
const MAC_AT = 16;
const LENGTH = 32;
const FORM = /^[A-Za-z0-9_-]{43}(?:\.[A-Za-z0-9_-]{43}){0,3}$/;

/** People who share a browser are known in it together, so many of them. */
const MAX_MARKS = 4;

/** Seconds for which a browser is known without another sign-in: 180 days. */
const LIFETIME = 180 * 86_400;

/**
 * What tells the owner of an account, under attack, from those who guess at it.
 * @see OWASP, Slow Down Online Guessing Attacks with Device Cookies
 */
export interface DeviceCookies {
  /** Whether a request has a cookie of this form: forged or not. */
  isPresent(request: HttpRequest): boolean;
  /**
   * The name of the browser, if its cookie was made for this account and its password of now; `null` for everything else, and
   * where there is no account, at the same cost.
   */
  findDevice(request: HttpRequest, account: AccountRecord | null): string | null;
  /** Knows the browser from now on, by a new name: for complete sign-ins only. Answers the `Set-Cookie` value. */
  issue(request: HttpRequest, account: AccountRecord): string;
}

type Configured = Pick<Configuration, 'issuer' | 'masterKey' | 'previousMasterKeys' | 'clock'>;

export function createDeviceCookies(configuration: Configured): DeviceCookies {
  const { issuer, masterKey, previousMasterKeys, clock } = configuration;
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
    isPresent: (request) => cookie.read(request) !== null,
    findDevice(request, account) {
      const marks = marksIn(request).map((text) => Buffer.from(text, 'base64url'));
      const own = marks.find((mark) => isOf(mark, account));
      return own?.toString('base64url', 0, MADE_AT) ?? null;
    },
    issue(request, account) {
      const others = marksIn(request).filter((text) => !isOf(Buffer.from(text, 'base64url'), account));
      return cookie.write([make(account), ...others].slice(0, MAX_MARKS).join('.'), LIFETIME);
    },
  };
}

function keyFrom(masterKey: Uint8Array): KeyObject {
  return createSecretKey(deriveKey(masterKey, 'known browsers'));
}

/** With the password hash in it, no mark outlives its password: one that was reset is one that a thief may have had. */
function macOf(key: KeyObject, mark: Buffer, account: AccountRecord | null): Buffer {
  return createHmac('sha256', key)
    .update(mark.subarray(0, MAC_AT))
    .update(JSON.stringify([account?.id ?? '', account?.passwordHash ?? '']))
    .digest()
    .subarray(0, LENGTH - MAC_AT);
}
