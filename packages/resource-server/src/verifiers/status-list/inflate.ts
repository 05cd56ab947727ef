/** Decompresses untrusted zlib data within a size limit. */

const nodeZlib: typeof import('node:zlib') | undefined = globalThis.process?.getBuiltinModule?.('node:zlib');

/**
 * Inflates zlib data.
 * @throws Error if it is malformed or larger than `most` bytes
 */
export async function inflate(deflated: Uint8Array<ArrayBuffer>, most: number): Promise<Uint8Array> {
  if (nodeZlib !== undefined) return nodeZlib.inflateSync(deflated, { maxOutputLength: most });
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream('deflate'));
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (size > most) throw new RangeError(`more than ${most} bytes`);
    chunks.push(chunk);
  }
  return joined(chunks, size);
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
