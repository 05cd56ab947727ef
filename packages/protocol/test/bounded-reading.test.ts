/** Bodies are read within a limit of bytes, and waited for until a signal. */
import { describe, expect, it } from 'vitest';
import { beforeAbort, readBytes } from '../src/index.ts';

const tooLong = () => new RangeError('too long');

/** @param end whether the stream ends, or stays silent */
function streamOf(chunks: readonly string[], end = true) {
  const seen = { isCancelled: false };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      if (end) controller.close();
    },
    cancel() {
      seen.isCancelled = true;
    },
  });
  return { body, seen };
}

const read = async (chunks: readonly string[], limit: number) =>
  new TextDecoder().decode(await readBytes(streamOf(chunks).body, { limit, tooLong }));

describe('a body', () => {
  it.each([
    { description: 'without chunks', chunks: [], text: '' },
    { description: 'of one chunk as long as the limit', chunks: ['0123456789'], text: '0123456789' },
    { description: 'of many chunks as long as the limit', chunks: [...'0123456789'], text: '0123456789' },
  ])('$description is read whole', async ({ chunks, text }) => {
    expect(await read(chunks, 10)).toBe(text);
  });

  it('that is absent is empty', async () => {
    expect(await readBytes(null, { limit: 0, tooLong })).toEqual(new Uint8Array());
  });

  it('is refused at the first byte beyond the limit, and the rest is cancelled', async () => {
    const { body, seen } = streamOf(['01234', '56789', 'x'], false);
    await expect(readBytes(body, { limit: 10, tooLong })).rejects.toThrow('too long');
    expect(seen.isCancelled).toBe(true);
  });

  it('of a silent sender ends with the signal, and is cancelled', async () => {
    const { body, seen } = streamOf(['0'], false);
    const abort = new AbortController();
    const bytes = readBytes(body, { limit: 10, tooLong, signal: abort.signal });
    abort.abort(new Error('late'));
    await expect(bytes).rejects.toThrow('late');
    expect(seen.isCancelled).toBe(true);
  });
});

describe('work', () => {
  it('that ends before the signal keeps its result and its error', async () => {
    const { signal } = new AbortController();
    expect(await beforeAbort(Promise.resolve(1), signal)).toBe(1);
    await expect(beforeAbort(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
  });

  it('that does not heed the signal is left, also if the signal was aborted before', async () => {
    const never = new Promise<never>(() => undefined);
    await expect(beforeAbort(never, AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  });
});
