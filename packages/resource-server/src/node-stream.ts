/** Event streams of node:http that end with the token that admitted them. */
import type { ServerResponse } from 'node:http';
import type { Guard } from './guard.ts';
import type { Principal } from './principal.ts';
import { isEventStream } from './streams.ts';

type WriteHead = ServerResponse['writeHead'];

/** Has an answer watched over from its first byte, should it turn out to be an event stream. */
export function endWithToken(
  { watch }: Guard,
  principal: Principal,
  method: string | undefined,
  response: ServerResponse,
): void {
  if (watch === null) return;
  const attend = (): void => {
    const stop = watch(principal, method ?? 'GET', () => endStream(response));
    response.once('close', stop);
  };
  // Over HTTP/2 an answer may begin without `writeHead`: what it is shows when its time is over.
  if ('stream' in response) {
    attend();
    return;
  }
  const { writeHead } = response;
  response.writeHead = ((...head: Parameters<WriteHead>) => {
    if (isEventStream(typeIn(head.at(-1)) ?? response.getHeader('content-type'))) attend();
    return writeHead.apply(response, head);
  }) as WriteHead;
}

/** The content type among fields as `writeHead` takes them: an object, a flat list, or a list of pairs. */
function typeIn(fields: unknown): unknown {
  if (typeof fields !== 'object' || fields === null) return undefined;
  const pairs = Array.isArray(fields) ? pairsOf(fields) : Object.entries(fields);
  return pairs.find(([name]) => String(name).toLowerCase() === 'content-type')?.[1];
}

function pairsOf(fields: readonly unknown[]): readonly (readonly unknown[])[] {
  if (Array.isArray(fields[0])) return fields as readonly (readonly unknown[])[];
  return fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1]]] : []));
}

/** As if the application had ended it; what it still writes goes nowhere, as when a client has gone. */
function endStream(response: ServerResponse): void {
  if ('stream' in response && !isEventStream(response.getHeader('content-type'))) return;
  response.on('error', () => {});
  response.end();
}
