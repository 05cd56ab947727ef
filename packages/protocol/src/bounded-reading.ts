/** Reading from others who decide neither how long one waits nor how many bytes one holds. */

/**
 * Resolves like the work, or rejects with the signal's reason, also when the work does not heed the signal. The listener is removed,
 * since one signal outlasts many chunks.
 */
export function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

export interface ReadLimits {
  /** Bytes. */
  readonly limit: number;
  /** The error for a longer body. */
  readonly tooLong: () => Error;
  /** Ends the waiting. */
  readonly signal?: AbortSignal;
}

/** Reads a body into one buffer, however small its chunks. @throws `tooLong()`, the signal's reason, or what the stream fails with */
export async function readBytes(
  body: ReadableStream<Uint8Array> | null | undefined,
  { limit, tooLong, signal }: ReadLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  let buffer = new Uint8Array();
  let length = 0;
  const reader = body?.getReader();
  try {
    while (reader !== undefined) {
      const next = reader.read();
      const { done, value } = await (signal === undefined ? next : beforeAbort(next, signal));
      if (done) break;
      if (length + value.byteLength > limit) throw tooLong();
      buffer = withSpace(buffer, length + value.byteLength);
      buffer.set(value, length);
      length += value.byteLength;
    }
  } finally {
    // Not awaited: how long that takes is up to the sender, and the copy of a body ends only together with the original.
    void reader?.cancel().catch(() => undefined);
  }
  return buffer.length === length ? buffer : buffer.slice(0, length);
}

/** Grows by doubling, so that each byte is copied once or twice. */
function withSpace(buffer: Uint8Array<ArrayBuffer>, needed: number): Uint8Array<ArrayBuffer> {
  if (needed <= buffer.length) return buffer;
  const larger = new Uint8Array(Math.max(needed, 2 * buffer.length));
  larger.set(buffer);
  return larger;
}
