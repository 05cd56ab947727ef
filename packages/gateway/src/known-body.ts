/** The body of a request, as far as it is known in each phase of the request. */
import type { RequestBody } from './http/request-body.ts';
import type { StreamedBody } from './http/streamed-body.ts';
import type { ScannedBody, ScannedMessage } from './messages/scanned-message.ts';
import type { UserActionRetry } from './user-action-retries.ts';

export interface Arriving {
  readonly kind: 'arriving';
  readonly body: RequestBody;
}

export interface Previewed {
  readonly kind: 'previewed';
  readonly body: RequestBody;
  /** The part of the body that has been scanned. */
  readonly scanned: ScannedBody;
}

export interface Streamed {
  readonly kind: 'streamed';
  readonly body: RequestBody;
  readonly scanned: ScannedBody;
  readonly upload: StreamedBody;
}

export interface Whole {
  readonly kind: 'whole';
  readonly scanned: ScannedBody;
  /** As the client sent it. */
  readonly bytes: Buffer;
  /** As sent to the backend. */
  readonly sent: Buffer;
  /** `null`: it is not sent again after its client was asked for an action of its user. */
  readonly retry: UserActionRetry | null;
}

/** The body of a request, as far as it has been scanned. */
export type KnownBody = { readonly kind: 'none' } | Arriving | Previewed | Streamed | Whole;

export function scannedOf(known: KnownBody): ScannedBody | null {
  return known.kind === 'none' || known.kind === 'arriving' ? null : known.scanned;
}

/** Whether it is a call that the backend may have got as a whole. */
export function isWholeCall(known: KnownBody): boolean {
  if (known.kind === 'streamed' && !known.upload.isComplete) return false;
  return scannedOf(known)?.messages.some(({ tool }) => tool !== null) === true;
}

/** Bytes that have arrived. */
export function lengthOf(known: KnownBody): number {
  if (known.kind === 'none') return 0;
  return known.kind === 'whole' ? known.bytes.length : known.body.length;
}

/** The arguments of one of its messages, or their hash, as in `CallRecord`. */
export function argumentsOf(
  known: KnownBody,
  { arguments: range }: ScannedMessage,
): Uint8Array | string | null {
  if (known.kind === 'streamed') return known.upload.argumentsHash;
  return known.kind === 'whole' && range !== null ? known.bytes.subarray(range.start, range.end) : null;
}
