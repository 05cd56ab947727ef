/** Reading request bodies: forms and JSON, of the right content type and of bounded size. */
import { OAuthError, type OAuthErrorCode, type Parameters, readParameters } from '@portcullis/protocol';
import type { HttpRequest } from './http-request.ts';
import { parseStrictJson } from './strict-json.ts';

/** Bytes that the body of a form or JSON request may have. */
export const MAX_BODY_BYTES = 65_536;

/**
 * Reads the form that a request carries. Parameters in the query are never looked at.
 * @throws OAuthError `invalid_request`: 400, or 413 for more than 64 KiB.
 * @see OAuth 2.1 draft 13 §3.2
 */
export function readFormBody(asked: HttpRequest): Promise<Parameters> {
  return readBody(asked, 'application/x-www-form-urlencoded', 'invalid_request', readParameters);
}

/**
 * Reads the JSON that a request carries.
 * @param code what the endpoint calls a body that it cannot use
 * @throws OAuthError with that code: 400, or 413 for more than 64 KiB.
 */
export function readJsonBody(asked: HttpRequest, code: OAuthErrorCode = 'invalid_request'): Promise<unknown> {
  return readBody(asked, 'application/json', code, (text) => parse(text, code));
}

/** The same, and the text that it was read from, which is in UTF-8 byte for byte what was sent. */
export function readJsonBodyText(
  asked: HttpRequest,
  code: OAuthErrorCode = 'invalid_request',
): Promise<{ readonly document: unknown; readonly text: string }> {
  return readBody(asked, 'application/json', code, (text) => ({ document: parse(text, code), text }));
}

function parse(text: string, code: OAuthErrorCode): unknown {
  try {
    return parseStrictJson(text);
  } catch (cause) {
    const description =
      'The body must be well-formed JSON, nested at most 16 levels deep, without repeated members.';
    throw new OAuthError(code, description, { cause });
  }
}

/** Reads a body of one type. @param read makes of its text what is wanted: here, since another promise would cost more */
async function readBody<T>(
  asked: HttpRequest,
  type: string,
  code: OAuthErrorCode,
  read: (text: string) => T,
): Promise<T> {
  if (!isOfType(asked.headers.get('content-type') ?? '', type)) {
    throw new OAuthError(code, `Send the body as ${type}.`);
  }
  const announced = asked.headers.get('content-length');
  if (Number(announced) > MAX_BODY_BYTES) throw tooLarge(code);
  try {
    const text = await (announced === null ? readCounted(asked.body, code) : asked.text());
    // The HTTP parser delivers no more than was announced; another host of this code may.
    if (text.length > MAX_BODY_BYTES) throw tooLarge(code);
    // Decoding puts this character in the place of bytes that are no UTF-8.
    if (text.includes('\ufffd')) throw new OAuthError(code, 'The body must be encoded in UTF-8.');
    return read(text);
  } catch (cause) {
    throw isBrokenOff(cause) ? new OAuthError(code, 'The body broke off. Send all of it.', { cause }) : cause;
  }
}

/** Whether the sender hung up in the middle, which is nobody's failure here. */
function isBrokenOff(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'ECONNRESET';
}

/** The media type must be the expected one; a charset parameter may say nothing but UTF-8. */
function isOfType(header: string, expected: string): boolean {
  if (header === expected) return true;
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  const charsets = parameters.map((part) => part.trim()).filter((part) => part.startsWith('charset='));
  return type.trim() === expected && charsets.every((part) => /^charset=(?:utf-?8|"utf-?8")$/.test(part));
}

async function readCounted(body: HttpRequest['body'], code: OAuthErrorCode): Promise<string> {
  if (body === null) return '';
  const decoder = new TextDecoder();
  let size = 0;
  let text = '';
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) throw tooLarge(code);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function tooLarge(code: OAuthErrorCode): OAuthError {
  return new OAuthError(code, `Send a body of at most ${MAX_BODY_BYTES} bytes.`, { status: 413 });
}
