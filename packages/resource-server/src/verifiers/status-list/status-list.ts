/** Parses, verifies and decompresses a signed token status list. */
import { decodeBase64url, isBase64url, readBytes, STATUS_LIST_TYPE } from '@portcullis/protocol';
import { parseCompactJws } from '../compact-jws.ts';
import type { KeySource } from '../key-source.ts';

export interface StatusList {
  /** Epoch seconds. */
  readonly issuedAt: number;
  /** Epoch seconds from which it must not be used. */
  readonly expiresAt: number;
  /** Seconds for which its issuer considers it fresh. */
  readonly timeToLive: number;
  /** Returns the status of an entry; `undefined` if the list is shorter. */
  statusOf(entry: number): number | undefined;
}

/** What a list must match. */
export interface StatusListExpectations {
  /** Its URI, byte for byte its `sub`. */
  readonly uri: string;
  readonly issuer: string;
  readonly keys: KeySource;
  /** Epoch seconds. */
  readonly now: number;
}

const LONGEST_LIST = 256 * 1024;
/** Bytes: four million entries of eight bits. */
const LARGEST_LIST = 4 * 1024 * 1024;
/** Seconds by which the issuer's clock may be ahead. */
const CLOCK_TOLERANCE = 60;
/** Allowed bits per entry. @see draft-ietf-oauth-status-list §4.1 */
const WIDTHS: readonly unknown[] = [1, 2, 4, 8];

/**
 * Parses and verifies a list.
 * @throws Error if it is malformed, or not the expected one
 * @see draft-ietf-oauth-status-list §8.3
 */
export async function readStatusList(text: string, expected: StatusListExpectations): Promise<StatusList> {
  const { uri, issuer, now } = expected;
  const { header, payload, signingInput, signature } = parseCompactJws(
    text,
    [STATUS_LIST_TYPE],
    LONGEST_LIST,
  );
  // An access token is signed by the same key, but is not a list.
  if (header.typ !== STATUS_LIST_TYPE) throw new Error('the type is not that of a list');
  const { sub, iss, iat, exp = Number.POSITIVE_INFINITY, ttl = 0, status_list: list } = payload;
  // MUST be equal to the URI in the token.
  if (sub !== uri) throw new Error('it is another list');
  if (iss !== undefined && iss !== issuer) throw new Error('it is a list of another issuer');
  if (typeof iat !== 'number' || iat > now + CLOCK_TOLERANCE)
    throw new Error('iat is missing or in the future');
  if (typeof exp !== 'number' || exp <= now) throw new Error('the list has expired');
  if (typeof ttl !== 'number' || ttl < 0) throw new Error('ttl is not a duration');
  const { alg: algorithm, kid: keyId } = header;
  const wanted = { algorithm, keyId, issuedUntil: iat + CLOCK_TOLERANCE, holder: null };
  const key = await expected.keys.find(wanted, now);
  if (!(await key.verify(text, signingInput, signature))) throw new Error('the signature is wrong');
  return { issuedAt: iat, expiresAt: exp, timeToLive: ttl, statusOf: await readEntries(list) };
}

/** Decodes the entries, from the lowest bit of the first byte. @see draft-ietf-oauth-status-list §4.1 */
async function readEntries(list: unknown): Promise<StatusList['statusOf']> {
  const { bits, lst } = (list ?? {}) as { readonly bits?: unknown; readonly lst?: unknown };
  if (typeof bits !== 'number' || !WIDTHS.includes(bits)) throw new Error('bits is not 1, 2, 4 or 8');
  if (typeof lst !== 'string' || !isBase64url(lst)) throw new Error('lst is not base64url');
  const bytes = await inflate(decodeBase64url(lst), LARGEST_LIST);
  const inOneByte = 8 / bits;
  const mask = 2 ** bits - 1;
  return (entry) => {
    const byte = bytes[Math.floor(entry / inOneByte)];
    return byte === undefined ? undefined : (byte >> ((entry % inOneByte) * bits)) & mask;
  };
}

const nodeZlib: typeof import('node:zlib') | undefined = globalThis.process?.getBuiltinModule?.('node:zlib');

/**
 * Inflates untrusted zlib data within a size limit.
 * @throws Error if it is malformed or larger than `most` bytes
 */
async function inflate(deflated: Uint8Array<ArrayBuffer>, most: number): Promise<Uint8Array> {
  if (nodeZlib !== undefined) return nodeZlib.inflateSync(deflated, { maxOutputLength: most });
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream('deflate'));
  return readBytes(stream, { limit: most, tooLong: () => new RangeError(`more than ${most} bytes`) });
}
