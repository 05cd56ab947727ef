/** Receives the body of a request within its limit. */
import type { IncomingMessage } from 'node:http';
import type { BodyScanner } from '../messages/scanned-message.ts';
import { type GatewayError, invalidRequest } from './error-response.ts';

/**
 * @param scanner gets each chunk; what it throws ends the request
 * @param done is called once; not at all if the client disappears
 */
export function receiveBody(
  incoming: IncomingMessage,
  limit: number,
  scanner: Pick<BodyScanner, 'push'>,
  done: (error: unknown, body: Buffer) => void,
): void {
  if (Number(incoming.headers['content-length'] ?? 0) > limit) {
    done(tooLong(limit), EMPTY);
    return;
  }
  let first: Buffer | null = null;
  let rest: Buffer[] | null = null;
  let length = 0;
  const take = (chunk: Buffer): void => {
    length += chunk.length;
    if (length > limit) {
      stop(tooLong(limit));
      return;
    }
    try {
      scanner.push(chunk);
    } catch (error) {
      stop(error);
      return;
    }
    if (first === null) first = chunk;
    else if (rest === null) rest = [first, chunk];
    else rest.push(chunk);
  };
  const stop = (error: unknown): void => {
    incoming.off('data', take).off('end', finish).pause();
    done(error, EMPTY);
  };
  const finish = (): void => done(null, rest === null ? (first ?? EMPTY) : Buffer.concat(rest));
  incoming.on('data', take).on('end', finish);
}

const EMPTY = Buffer.alloc(0);

function tooLong(limit: number): GatewayError {
  return invalidRequest(413, `The body must not exceed ${limit} bytes.`);
}
