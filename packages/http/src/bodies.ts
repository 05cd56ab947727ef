/** Reading request bodies: forms and JSON, of the right content type and of bounded size and depth. */
import { OAuthError, type Parameters, readParameters } from '@portcullis/protocol';

/** Bytes that the body of a form or JSON request may have. */
export const LARGEST_BODY = 65_536;

/** How deep JSON may nest. */
const DEEPEST_JSON = 16;

/**
 * Reads the form that a request carries. Parameters in the query are never looked at.
 * @throws OAuthError `invalid_request`: 400, or 415 for another content type, or 413 for more than 64 KiB.
 * @see OAuth 2.1 draft 13 §3.2
 */
export async function readForm(request: Request): Promise<Parameters> {
  checkContentType(request, 'application/x-www-form-urlencoded');
  return readParameters(await readText(request));
}

/**
 * Reads the JSON that a request carries.
 * @throws OAuthError `invalid_request`: 400, or 415 for another content type, or 413 for more than 64 KiB.
 */
export async function readJson(request: Request): Promise<unknown> {
  checkContentType(request, 'application/json');
  const text = await readText(request);
  if (nesting(text) > DEEPEST_JSON) {
    throw new OAuthError('invalid_request', `Nest the JSON body at most ${DEEPEST_JSON} levels deep.`);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new OAuthError('invalid_request', 'The body is not well-formed JSON.', { cause });
  }
}

/** The media type must be the expected one; a charset parameter may say nothing but UTF-8. */
function checkContentType(request: Request, expected: string): void {
  const [type = '', ...parameters] = (request.headers.get('content-type') ?? '').toLowerCase().split(';');
  const charsets = parameters.map(part => part.trim()).filter(part => part.startsWith('charset='));
  const isUtf8 = charsets.every(part => /^charset="?utf-?8"?$/.test(part));
  if (type.trim() !== expected || !isUtf8) {
    throw new OAuthError('invalid_request', `Send the body as ${expected}.`, { status: 415 });
  }
}

async function readText(request: Request): Promise<string> {
  const announced = request.headers.get('content-length');
  if (announced === null) return readCounted(request.body);
  if (Number(announced) > LARGEST_BODY) throw tooLarge();
  // The HTTP parser delivers no more than was announced.
  return request.text();
}

async function readCounted(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (body === null) return '';
  const decoder = new TextDecoder();
  let size = 0;
  let text = '';
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > LARGEST_BODY) throw tooLarge();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function tooLarge(): OAuthError {
  return new OAuthError('invalid_request', `Send a body of at most ${LARGEST_BODY} bytes.`, { status: 413 });
}

/** How deep the brackets of a JSON text nest, those in strings left out. */
function nesting(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[{]|[\]}]/gs)) {
    if (token === '[' || token === '{') deepest = Math.max(deepest, ++depth);
    else if (token === ']' || token === '}') depth--;
  }
  return deepest;
}
