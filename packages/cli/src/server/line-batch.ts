/** Batches log lines: every write to a file or pipe blocks the process until it is done. */

/** @param write receives whole lines */
export function createLineBatch(write: (text: string) => void) {
  let waiting = '';
  let isOpen = true;
  const flush = () => {
    const text = waiting;
    waiting = '';
    if (text !== '') write(text);
  };
  process.once('exit', flush);
  return {
    /** Adds a line, without its line break. It is written at the end of this turn of the event loop, or at process exit. */
    add(line: string): void {
      if (isOpen && waiting === '') setImmediate(flush);
      waiting += `${line}\n`;
      if (!isOpen) flush();
    },
    /** Writes the batch now. */
    flush,
    /** Writes the batch; later lines are written immediately. */
    end(): void {
      isOpen = false;
      process.off('exit', flush);
      flush();
    },
  };
}

/** Maximum bytes of an atomic pipe write: larger ones may interleave with another process's output. @see pipe(7) */
const ATOMIC = 4096;

/** Writes whole lines in atomic chunks, which processes sharing standard output cannot interleave. */
export function inPieces(write: (text: string) => void): (text: string) => void {
  return (text) => {
    let piece = '';
    for (const line of text.split(/(?<=\n)/)) {
      if (piece !== '' && Buffer.byteLength(piece) + Buffer.byteLength(line) > ATOMIC) {
        write(piece);
        piece = '';
      }
      piece += line;
    }
    write(piece);
  };
}
