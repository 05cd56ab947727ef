/** Reads request bodies: forms and strict JSON, of the expected content type and of limited size. */
import {
  type JsonLimits,
  OAuthError,
  type OAuthErrorCode,
  type Parameters,
  readParameters,
  readStrictJson,
} from '@portcullis/protocol';
import type { HttpRequest } from './http-request.ts';

/** The maximum size of a form or JSON body, in bytes. */
export const MAX_BODY_BYTES = 65_536;

/**
 * Reads a form body. Parameters in the query are ignored.
 * @throws OAuthError `invalid_request`: 400, 413 for more than 64 KiB, or 415 for a content coding
 * @see RFC 6749 §3.2, OAuth 2.1 draft 13 §3.2
 */
export function readFormBody(request: HttpRequest): Promise<Parameters> {
  return readBody(request, ['application/x-www-form-urlencoded'], 'invalid_request', readParameters);
}

/**
 * Reads a body as text, such as a token in compact serialization.
 * @throws OAuthError `invalid_request`: 400, 413 for more than 64 KiB, or 415 for a content coding
 */
export function readRawBody(request: HttpRequest, type: string): Promise<string> {
  return readBody(request, [type], 'invalid_request', (text) => text);
}

/** What a JSON body may be. */
interface JsonBodyRules {
  /** Media types. */
  readonly types: readonly string[];
  /** Its maximum size. */
  readonly bytes: number;
  readonly limits: JsonLimits;
}

/**
 * Reads a JSON body.
 * @param code the error code of the endpoint for an unusable body
 * @param rules by default `application/json` of at most 64 KiB
 * @throws OAuthError with that code: 400, 413 for more bytes than that, or 415 for a content coding
 */
export function readJsonBody(
  request: HttpRequest,
  code: OAuthErrorCode = 'invalid_request',
  rules: JsonBodyRules = { types: ['application/json'], bytes: MAX_BODY_BYTES, limits: JSON_LIMITS },
): Promise<unknown> {
  const { types, bytes, limits } = rules;
  return readBody(request, types, code, (text) => parse(text, code, limits), bytes);
}

function parse(text: string, code: OAuthErrorCode, limits: JsonLimits): unknown {
  try {
    return readStrictJson(text, limits);
  } catch (cause) {
    const description =
      'The body must be well-formed JSON, nested at most 16 levels deep, without repeated members.';
    throw new OAuthError(code, description, { cause });
  }
}

/**
 * Reads a body of one of the content types. @param read parses its text; passed in because another promise would cost more
 */
async function readBody<T>(
  request: HttpRequest,
  types: readonly string[],
  code: OAuthErrorCode,
  read: (text: string) => T,
  most = MAX_BODY_BYTES,
): Promise<T> {
  const header = request.headers.get('content-type') ?? '';
  if (!types.some((type) => isOfType(header, type))) {
    throw new OAuthError(code, `Send the body as ${types.join(' or ')}.`);
  }
  const coding = request.headers.get('content-encoding') ?? 'identity';
  if (coding.toLowerCase() !== 'identity') {
    // @see RFC 9110 §8.4
    throw new OAuthError(code, 'Send the body without a content coding.', { status: 415 });
  }
  const announced = request.headers.get('content-length');
  if (Number(announced) > most) throw bodyTooLargeError(code, most);
  try {
    const text = await (announced === null ? readLimited(request.body, code, most) : request.text());
    // Node's HTTP parser enforces Content-Length; another host of this code may not.
    if (text.length > most) throw bodyTooLargeError(code, most);
    // The decoder replaces invalid UTF-8 with this character.
    if (text.includes('\ufffd')) throw new OAuthError(code, 'The body must be encoded in UTF-8.');
    return read(text);
  } catch (cause) {
    throw isConnectionReset(cause)
      ? new OAuthError(code, 'The body is incomplete. Send all of it.', { cause })
      : cause;
  }
}

/** Whether the client closed the connection before the end of the body, which is not a server error. */
function isConnectionReset(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'ECONNRESET';
}

/** Compares media types; a charset parameter may only be UTF-8. */
function isOfType(header: string, expected: string): boolean {
  if (header === expected) return true;
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  const charsets = parameters.map((part) => part.trim()).filter((part) => part.startsWith('charset='));
  return type.trim() === expected && charsets.every((part) => /^charset=(?:utf-?8|"utf-?8")$/.test(part));
}

async function readLimited(body: HttpRequest['body'], code: OAuthErrorCode, most: number): Promise<string> {
  if (body === null) return '';
  const decoder = new TextDecoder();
  let size = 0;
  let text = '';
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > most) throw bodyTooLargeError(code, most);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function bodyTooLargeError(code: OAuthErrorCode, most: number): OAuthError {
  return new OAuthError(code, `Send a body of at most ${most} bytes.`, { status: 413 });
}

/** Several times what OAuth documents need. */
const JSON_LIMITS: JsonLimits = { depth: 16, members: 2000, values: 20_000 };

/**
 * Parses JSON strictly: bounded, no duplicate members, no member names in disguise.
 * @throws SyntaxError if the text is malformed, nests more than 16 levels deep, has more than 2,000 members or 20,000
 * values, repeats a member of an object, or escapes a member name needlessly
 * @see RFC 8259 §4
 */
export function parseStrictJson(text: string): unknown {
  return readStrictJson(text, JSON_LIMITS);
}
