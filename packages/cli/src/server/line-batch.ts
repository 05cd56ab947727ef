/** Lines gathered and written together: every write to a file or a pipe halts the process until it is done. */

export interface Gathering {
  /** Takes a line without its end. It is written when this turn of the event loop ends, or when the process does. */
  add(line: string): void;
  /** Writes now what has gathered. */
  flush(): void;
  /** Writes what is left. Lines that come later are written at once. */
  end(): void;
}

export function createLineBatch(write: (text: string) => void): Gathering {
  let waiting = '';
  let isOpen = true;
  const flush = () => {
    const text = waiting;
    waiting = '';
    if (text !== '') write(text);
  };
  process.once('exit', flush);
  return {
    add(line) {
      if (isOpen && waiting === '') setImmediate(flush);
      waiting += `${line}\n`;
      if (!isOpen) flush();
    },
    flush,
    end() {
      isOpen = false;
      process.off('exit', flush);
      flush();
    },
  };
}
