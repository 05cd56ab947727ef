/** Splits the output of a process into lines, none longer than a limit. */
import type { Readable } from 'node:stream';

/** @param tooLong called once, with what was kept of the line; nothing is read after it */
export function readLines(
  stream: Readable,
  limit: number,
  receive: (line: string) => void,
  tooLong: () => void,
): void {
  let pieces: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      if (size > limit) return stop();
      const line = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
      pieces = [];
      size = 0;
      const text = line?.toString('utf8').trim() ?? '';
      if (text !== '') receive(text);
    }
    add(chunk.subarray(start));
    if (size > limit) stop();
  });
  stream.on('error', () => undefined);

  function add(piece: Buffer): void {
    if (piece.length === 0) return;
    pieces.push(piece);
    size += piece.length;
  }

  function stop(): void {
    pieces = [];
    stream.removeAllListeners('data').resume();
    tooLong();
  }
}
