/** The body of a request: how adapters read it, in bounded length and plain encoding, and how it is parsed. */
import { OAuthError, readStrictJson } from '@portcullis/protocol';

/** The error for a body beyond the limit. */
export function bodyTooLarge(limit: number): OAuthError {
  return new OAuthError('invalid_request', `The body must not exceed ${limit} bytes.`, {
    status: 413,
    reason: 'body is too long',
  });
}

/** Rejects a body that is announced to be too long before it is read. @throws OAuthError 413 */
export function checkAnnouncedLength(length: string | null | undefined, limit: number): void {
  if (Number(length ?? 0) > limit) throw bodyTooLarge(limit);
}

/**
 * Rejects a body that applications may read differently: some decode any charset that a request names, and
 * decompress.
 * @throws OAuthError `invalid_request` 415
 */
export function checkPlainEncoding(
  type: string | null | undefined,
  encoding: string | null | undefined,
): void {
  const isUtf8 = !/charset/i.test(type ?? '') || CHARSET_UTF8.test(type ?? '');
  if (!isUtf8 || !/^(?:identity)?$/i.test(encoding ?? '')) throw unreadableBody(415);
}

/** A single charset parameter, UTF-8. */
const CHARSET_UTF8 = /^(?:(?!charset).)*;\s*charset=(?:utf-?8|"utf-?8")\s*(?:;(?:(?!charset).)*)?$/i;

/** Limits of a body, so that none stalls other requests. */
const JSON_LIMITS = { depth: 500, members: 10_000, values: 100_000 };

/**
 * Parses a body: empty, or JSON in UTF-8 without ambiguous member names. A parsed value is returned as it is.
 * @throws OAuthError `invalid_request`
 */
export function parseBody(body: unknown): unknown {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return body;
  if (body.length === 0) return undefined;
  try {
    const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { fatal: true }).decode(body);
    return readStrictJson(text, JSON_LIMITS);
  } catch {
    throw unreadableBody();
  }
}

function unreadableBody(status = 400): OAuthError {
  return new OAuthError(
    'invalid_request',
    'The body must be JSON in UTF-8, not compressed, without repeated members, with at most 10,000 members and 100,000 values.',
    { status, reason: 'body could not be read as JSON' },
  );
}
