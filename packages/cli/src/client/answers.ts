/** Answers of a server that are no stream: their type, their text, and a refusal in words. */
import { parseChallenges, readLenientScopes, type Scopes } from '@portcullis/protocol';
import { isObject, parseJson } from '../json.ts';
import { isRequest, type Message, readMessage } from './json-rpc.ts';

/** An answer that is no message, with what it said. */
export class Refusal extends Error {
  override readonly name: string = 'Refusal';
  readonly status: number;
  /** Scopes that the token lacks, as the server says; empty where that is not it. */
  readonly missing: Scopes;

  constructor(status: number, said: string, missing: Scopes = []) {
    super(`The server answered with status ${status}${said === '' ? '' : `: ${said}`}`);
    this.status = status;
    this.missing = missing;
  }
}

/** Most characters of an answer that is no stream. */
const LONGEST = 64 * 1024 * 1024;

/** The messages of an answer. @throws Refusal when it is a page: whoever answers with one speaks something else */
export async function readMessages(response: Response): Promise<readonly Message[]> {
  const text = await readText(response);
  const body = parseJson(text);
  if (body === undefined && text !== '') {
    throw new Refusal(response.status, 'a page, and not a message of the protocol');
  }
  return (Array.isArray(body) ? body : [body]).map(readMessage).filter((read) => read !== null);
}

/**
 * A refusal that is itself the answer to a request is passed on as one.
 * @throws Refusal for any other
 */
export async function acceptAnswer(response: Response, message: Message): Promise<Response> {
  if (response.ok) {
    if (!isRequest(message)) await response.body?.cancel();
    return response;
  }
  const text = typeOf(response) === 'application/json' ? await readText(response) : '';
  if (text === '') await response.body?.cancel().catch(() => undefined);
  const json = parseJson(text);
  const said = readMessage(json);
  if (said !== null && 'error' in said && isRequest(message) && (said.id ?? message.id) === message.id) {
    return Response.json({ ...said, id: message.id });
  }
  throw refusalOf(response, json);
}

/** The refusal in an HTTP error response. @param json its body, if any */
export function refusalOf(response: Response, json: unknown): Refusal {
  return new Refusal(response.status, reasonIn(json), missingIn(response));
}

/** @see RFC 6750 §3.1 */
function missingIn({ headers }: Response): Scopes {
  const challenge = parseChallenges(headers.get('www-authenticate') ?? '').find(
    ({ parameters }) => parameters.get('error') === 'insufficient_scope',
  );
  return readLenientScopes(challenge?.parameters.get('scope') ?? '');
}

export function typeOf(response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/** What OAuth and problem documents call their sentence. */
function reasonIn(json: unknown): string {
  if (!isObject(json)) return '';
  const { error, error_description: description } = json;
  const parts = [isObject(error) ? error['message'] : error, description];
  return parts
    .filter((part) => typeof part === 'string')
    .join(', ')
    .slice(0, 300);
}

async function readText(response: Response): Promise<string> {
  const pieces: string[] = [];
  let size = 0;
  for await (const piece of (response.body ?? emptyStream()).pipeThrough(new TextDecoderStream())) {
    pieces.push(piece);
    size += piece.length;
    if (size > LONGEST) throw new Error('The answer has no end.');
  }
  return pieces.join('');
}
