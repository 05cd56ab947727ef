/** The terminal: output, messages, prompts and progress. */
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { ClientError } from '@portcullis/client';

/** The standard streams. Colours and prompts depend on which of them is a terminal. */
export interface Streams {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly errors: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
}

export type Styles = ReturnType<typeof createStyles>;

export type Terminal = ReturnType<typeof createTerminal>;

/** Milliseconds before progress is shown, and between updates. */
const PROGRESS_DELAY = 1000;
/** Seconds after which work takes unexpectedly long. */
const LATE = 15;

/** What is in progress; with a second text, that is shown when it takes unexpectedly long. */
export type Activity = string | readonly [first: string, later: string];

export function createTerminal(
  { input, output, errors }: Streams,
  environment: Readonly<Record<string, string | undefined>>,
) {
  const interactive = input.isTTY === true && errors.isTTY === true;
  const outputIsTerminal = output.isTTY === true;
  const coloured = (environment['NO_COLOR'] ?? '') === '' && environment['TERM'] !== 'dumb';
  const progress = createProgress(errors, errors.isTTY === true && environment['TERM'] !== 'dumb');
  const prompts = createPrompts(input, errors, input.isTTY === true);

  return {
    /** Whether a user can respond to prompts. */
    interactive,
    /** Whether standard output is a terminal. */
    outputIsTerminal,
    styles: createStyles(outputIsTerminal && coloured),
    /** Columns for coloured pictures among the messages; 0 where they cannot be shown. */
    pictureColumns: errors.isTTY === true && coloured ? (errors.columns ?? 0) : 0,
    /** Writes the command's result to standard output. */
    print(text: string): void {
      progress.clear();
      output.write(text);
    },
    /** Writes a message to standard error. */
    tell(text: string): void {
      progress.clear();
      errors.write(text.endsWith('\n') ? text : `${text}\n`);
    },
    /** Sets the progress message, shown if the work takes longer than a second; `null`: done. */
    during: progress.during,
    /** Reads one line from the user. @throws ClientError `cancelled` at the end of input */
    ask: (prompt: string) => ask(prompt, false),
    /** Reads one line without echoing it. */
    askSecret: (prompt: string) => ask(prompt, true),
    async confirm(prompt: string): Promise<boolean> {
      return /^(y|yes)$/i.test((await ask(`${prompt} [y/N] `, false)).trim());
    },
    close(): void {
      progress.during(null);
      prompts.close();
    },
  };

  async function ask(prompt: string, secret: boolean): Promise<string> {
    progress.during(null);
    errors.write(prompt);
    const line = await prompts.line(secret);
    if (secret && input.isTTY === true) errors.write('\n');
    return line;
  }
}

function createStyles(styled: boolean) {
  const style = (start: number, end: number) => (text: string) =>
    styled ? `\x1b[${start}m${text}\x1b[${end}m` : text;
  return {
    bold: style(1, 22),
    faint: style(2, 22),
    good: style(32, 39),
    bad: style(31, 39),
  };
}

/** Shows progress: on a terminal a line that counts seconds and disappears, otherwise one line per slow step. */
function createProgress(errors: Streams['errors'], live: boolean) {
  let timer: NodeJS.Timeout | null = null;
  let shown = false;

  function clear(): void {
    if (shown && live) errors.write('\r\x1b[2K');
    shown = false;
  }

  return {
    clear,
    during(activity: Activity | null): void {
      if (timer !== null) clearInterval(timer);
      timer = null;
      clear();
      if (activity === null) return;
      const [first, later] = typeof activity === 'string' ? [activity, activity] : activity;
      let seconds = 0;
      timer = setInterval(() => {
        seconds += 1;
        const what = seconds < LATE ? first : later;
        if (live) errors.write(`\r\x1b[2K${what} … ${seconds} s`);
        else if (seconds === 1 || (seconds === LATE && later !== first)) errors.write(`${what} …\n`);
        shown = true;
      }, PROGRESS_DELAY).unref();
    },
  };
}

/** One reader for the whole process: several would lose lines of a pipe. */
function createPrompts(input: Streams['input'], errors: Streams['errors'], terminal: boolean) {
  let reader: Interface | null = null;
  let lines: AsyncIterator<string> | null = null;
  let muted = false;

  function open(): AsyncIterator<string> {
    // Readline echoes input to its output, which is muted for secrets.
    const echo = new Writable({
      write(chunk, _encoding, done) {
        if (!muted) errors.write(chunk);
        done();
      },
    });
    const opened = createInterface({ input, output: echo, terminal, historySize: 0 });
    // The terminal passes Ctrl+C on as a character: it ends the command as everywhere else.
    opened.on('SIGINT', () => {
      opened.removeAllListeners('close');
      opened.close();
      errors.write('\n');
      // A signal that has listeners does not arrive where nothing else runs any more.
      if (!process.emit('SIGINT')) process.kill(process.pid, 'SIGINT');
    });
    reader = opened;
    return opened[Symbol.asyncIterator]();
  }

  return {
    async line(secret: boolean): Promise<string> {
      lines ??= open();
      muted = secret;
      try {
        const { value, done } = await lines.next();
        if (done) throw new ClientError('cancelled', 'There was no input.');
        return value;
      } finally {
        muted = false;
      }
    },
    close(): void {
      reader?.close();
    },
  };
}
