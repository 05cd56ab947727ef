/** A signed status list, read: whose it is, how old it is, and what it says of each token. */
import { STATUS_LIST_TYPE } from '@portcullis/protocol/protected-resource';
import { decodeBase64url, isBase64url } from '../base64url.ts';
import { parseCompactJws } from '../compact-jws.ts';
import type { KeySource } from '../key-source.ts';
import { inflate } from './inflate.ts';

export interface StatusList {
  /** Epoch seconds. */
  readonly issuedAt: number;
  /** Epoch seconds from which nobody may believe it. */
  readonly expiresAt: number;
  /** Seconds for which its issuer takes it to be fresh. */
  readonly timeToLive: number;
  /** The status of an entry; `undefined` when the list has none of that number. */
  statusOf(entry: number): number | undefined;
}

/** What a list has to be. */
export interface StatusListExpectations {
  /** Where it was found: what it must call itself, byte for byte. */
  readonly uri: string;
  readonly issuer: string;
  readonly keys: KeySource;
  /** Epoch seconds. */
  readonly now: number;
}

const LONGEST_LIST = 256 * 1024;
/** Bytes: a million entries of the widest kind, four times over. */
const LARGEST_LIST = 4 * 1024 * 1024;
/** Seconds by which the clock of its issuer may be ahead. */
const CLOCK_TOLERANCE = 60;
/** How many bits an entry may have. @see draft-ietf-oauth-status-list §4.1 */
const WIDTHS: readonly unknown[] = [1, 2, 4, 8];

/**
 * Reads a list.
 * @throws Error when it is none, or not the one that was expected
 * @see draft-ietf-oauth-status-list §8.3
 */
export async function readStatusList(text: string, expected: StatusListExpectations): Promise<StatusList> {
  const { uri, issuer, now } = expected;
  const { header, payload, signingInput, signature } = parseCompactJws(
    text,
    [STATUS_LIST_TYPE],
    LONGEST_LIST,
  );
  // An access token is signed by the same key, and is no list.
  if (header.typ !== STATUS_LIST_TYPE) throw new Error('the type is not that of a list');
  const { sub, iss, iat, exp = Number.POSITIVE_INFINITY, ttl = 0, status_list: list } = payload;
  // MUST be equal to the uri in the token.
  if (sub !== uri) throw new Error('it is another list');
  if (iss !== undefined && iss !== issuer) throw new Error('it is a list of another issuer');
  if (typeof iat !== 'number' || iat > now + CLOCK_TOLERANCE)
    throw new Error('iat is missing or in the future');
  if (typeof exp !== 'number' || exp <= now) throw new Error('the list has expired');
  if (typeof ttl !== 'number' || ttl < 0) throw new Error('ttl is no time');
  const wanted = { algorithm: header.alg, keyId: header.kid, issuedUntil: iat + CLOCK_TOLERANCE };
  const key = await expected.keys.find(wanted, now);
  if (!(await key.verify(text, signingInput, signature))) throw new Error('the signature is wrong');
  return { issuedAt: iat, expiresAt: exp, timeToLive: ttl, statusOf: await readEntries(list) };
}

/** Entries from the lowest bit of the first byte on. @see draft-ietf-oauth-status-list §4.1 */
async function readEntries(list: unknown): Promise<StatusList['statusOf']> {
  const { bits, lst } = (list ?? {}) as { readonly bits?: unknown; readonly lst?: unknown };
  if (typeof bits !== 'number' || !WIDTHS.includes(bits)) throw new Error('bits is not 1, 2, 4 or 8');
  if (typeof lst !== 'string' || !isBase64url(lst)) throw new Error('lst is no base64url');
  const bytes = await inflate(decodeBase64url(lst), LARGEST_LIST);
  const inOneByte = 8 / bits;
  const mask = 2 ** bits - 1;
  return (entry) => {
    const byte = bytes[Math.floor(entry / inOneByte)];
    return byte === undefined ? undefined : (byte >> ((entry % inOneByte) * bits)) & mask;
  };
}
