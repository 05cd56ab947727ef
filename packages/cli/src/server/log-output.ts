/** Where log lines go: standard output or standard error of a server. What cannot be written is dropped and counted. */

export interface LogOutput {
  /** Writes whole lines, each with its line break. Never throws and never waits. */
  write(text: string): void;
  /** How many lines were dropped since the start. */
  dropped(): number;
}

/** Characters that wait for a reader that is slow or stopped; beyond, lines are dropped. */
const MAX_WAITING = 8 * 1024 * 1024;

/**
 * A full disk (`ENOSPC`), a reader that is gone (`EPIPE`) or one that reads no more must not stop the server: the lines are dropped,
 * and each later write is a new attempt.
 * @param onRecovered called with the number of lines lost in between, when a line could be written again
 */
export function createLogOutput(
  stream: NodeJS.WritableStream & { readonly writableLength?: number },
  onRecovered: (dropped: number) => void,
): LogOutput {
  let total = 0;
  let reported = 0;
  const drop = (text: string) => {
    total += text.split('\n').length - 1;
  };
  const recover = () => {
    if (total === reported) return;
    const lost = total - reported;
    reported = total;
    onRecovered(lost);
  };
  survive(stream);
  return {
    write(text) {
      if ((stream.writableLength ?? 0) > MAX_WAITING) return drop(text);
      stream.write(text, (error) => (error ? drop(text) : recover()));
    },
    dropped: () => total,
  };
}

/** From here on, errors of this stream end nothing: neither unhandled, nor by a listener of the command line. */
export function survive(stream: NodeJS.WritableStream): void {
  stream.removeAllListeners('error');
  stream.on('error', () => {});
}
