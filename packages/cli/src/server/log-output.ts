/** Writes log lines to standard output or standard error. Lines that cannot be written are dropped and counted. */

/** Maximum characters buffered for a slow or stopped reader; further lines are dropped. */
const MAX_WAITING = 8 * 1024 * 1024;

/**
 * A full disk (`ENOSPC`), a closed pipe (`EPIPE`) or a stalled reader must not stop the server: lines are dropped, and each
 * later write is a new attempt.
 * @param onRecovered called with the number of dropped lines when a write succeeds again
 */
export function createLogOutput(
  stream: NodeJS.WritableStream & { readonly writableLength?: number },
  onRecovered: (dropped: number) => void,
) {
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
    /** Writes whole lines, each with its line break. Never throws and never waits. */
    write(text: string): void {
      if ((stream.writableLength ?? 0) > MAX_WAITING) drop(text);
      else stream.write(text, (error) => (error ? drop(text) : recover()));
    },
    /** How many lines were dropped since the start. */
    dropped: () => total,
  };
}

/** Prevents errors of this stream from ending the process, unhandled or by a listener of the command line. */
export function survive(stream: NodeJS.WritableStream): void {
  stream.removeAllListeners('error');
  stream.on('error', () => {});
}
