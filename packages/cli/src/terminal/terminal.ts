/** The terminal of a command: output, messages, questions to the user, and progress. */
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { ClientError } from '@portcullis/client';

/** The three streams of a process. Whether one is a terminal decides about colours and questions. */
export interface Streams {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly errors: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

export interface Styles {
  bold(text: string): string;
  faint(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  doubtful(text: string): string;
}

export interface Terminal {
  /** Whether somebody is there who can answer. */
  readonly interactive: boolean;
  /** Whether what is printed lands on a screen. */
  readonly outputIsTerminal: boolean;
  readonly styles: Styles;
  /** To standard output: what the command was asked for. */
  print(text: string): void;
  /** To standard error: everything else, in lines. */
  tell(text: string): void;
  /** Names what is going on. It is shown once that takes longer than a second; `null`: nothing is. */
  during(what: string | null): void;
  /** One line from the person. Throws ClientError `cancelled` when the input has ended. */
  ask(question: string): Promise<string>;
  /** The same, without showing what is typed. */
  askSecret(question: string): Promise<string>;
  confirm(question: string): Promise<boolean>;
  close(): void;
}

/** Milliseconds that need no explanation. */
const PROGRESS_DELAY = 1000;

export function createTerminal(
  { input, output, errors }: Streams,
  environment: Readonly<Record<string, string | undefined>>,
): Terminal {
  const interactive = input.isTTY === true && errors.isTTY === true;
  const outputIsTerminal = output.isTTY === true;
  const coloured = (environment['NO_COLOR'] ?? '') === '' && environment['TERM'] !== 'dumb';
  const progress = createProgress(errors, errors.isTTY === true && environment['TERM'] !== 'dumb');
  const questions = createQuestions(input, errors, input.isTTY === true);

  const terminal: Terminal = {
    interactive,
    outputIsTerminal,
    styles: createStyles(outputIsTerminal && coloured),
    print(text) {
      progress.clear();
      output.write(text);
    },
    tell(text) {
      progress.clear();
      errors.write(text.endsWith('\n') ? text : `${text}\n`);
    },
    during: progress.during,
    ask: (question) => ask(question, false),
    askSecret: (question) => ask(question, true),
    async confirm(question) {
      return /^(y|yes)$/i.test((await terminal.ask(`${question} [y/N] `)).trim());
    },
    close() {
      progress.during(null);
      questions.close();
    },
  };
  return terminal;

  async function ask(question: string, secret: boolean): Promise<string> {
    progress.during(null);
    errors.write(question);
    const line = await questions.line(secret);
    if (secret && input.isTTY === true) errors.write('\n');
    return line;
  }
}

function createStyles(styled: boolean): Styles {
  const style = (start: number, end: number) => (text: string) =>
    styled ? `\x1b[${start}m${text}\x1b[${end}m` : text;
  return {
    bold: style(1, 22),
    faint: style(2, 22),
    good: style(32, 39),
    bad: style(31, 39),
    doubtful: style(33, 39),
  };
}

/** On a terminal a line that counts seconds and goes away; else one line for each thing that took its time. */
function createProgress(errors: Streams['errors'], live: boolean) {
  let timer: NodeJS.Timeout | null = null;
  let shown = false;

  function clear(): void {
    if (shown && live) errors.write('\r\x1b[2K');
    shown = false;
  }

  return {
    clear,
    during(what: string | null): void {
      if (timer !== null) clearInterval(timer);
      timer = null;
      clear();
      if (what === null) return;
      let seconds = 0;
      timer = setInterval(() => {
        seconds += 1;
        if (live) errors.write(`\r\x1b[2K${what} … ${seconds} s`);
        else if (seconds === 1) errors.write(`${what} …\n`);
        shown = true;
      }, PROGRESS_DELAY).unref();
    },
  };
}

interface Questions {
  line(secret: boolean): Promise<string>;
  close(): void;
}

/** Lines are read by one reader for the whole life of the program, so that none of a pipe is lost. */
function createQuestions(input: Streams['input'], errors: Streams['errors'], terminal: boolean): Questions {
  let reader: Interface | null = null;
  let muted = false;
  let ended = false;
  const lines: string[] = [];
  const waiting: PromiseWithResolvers<string>[] = [];

  function open(): void {
    if (reader !== null) return;
    // Readline echoes what is typed through its output: for secrets it is let go nowhere.
    const echo = new Writable({
      write(chunk, _encoding, done) {
        if (!muted) errors.write(chunk);
        done();
      },
    });
    reader = createInterface({ input, output: echo, terminal, historySize: 0 });
    reader.on('line', (line) => {
      const next = waiting.shift();
      if (next === undefined) lines.push(line);
      else next.resolve(line);
    });
    reader.on('SIGINT', () => reader?.close());
    reader.on('close', () => {
      ended = true;
      for (const next of waiting.splice(0)) next.reject(noAnswer());
    });
  }

  return {
    async line(secret) {
      open();
      muted = secret;
      try {
        const known = lines.shift();
        if (known !== undefined) return known;
        if (ended) throw noAnswer();
        const next = Promise.withResolvers<string>();
        waiting.push(next);
        return await next.promise;
      } finally {
        muted = false;
      }
    },
    close() {
      reader?.close();
    },
  };
}

function noAnswer(): ClientError {
  return new ClientError('cancelled', 'There was no input.');
}
