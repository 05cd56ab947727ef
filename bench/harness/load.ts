/**
 * Load by a number of connections, each with one pending request: in a closed loop, or as flows arrive. It speaks HTTP/1.1 on raw sockets, because a
 * node:http client costs more per request than the bare server that everything is compared with.
 */
import { connect, type Socket } from 'node:net';

export interface Answer {
  readonly status: number;
  /** Status line and header fields. */
  readonly head: string;
  readonly body: string;
}

/** A request, and how its response is handled. */
export interface Step {
  readonly request: string;
  /** Returns the next step of the flow, `null` when it has succeeded. @throws Error for a wrong response */
  read(answer: Answer): Step | null;
}

/** Starts a flow; `null` when none is left. */
export type Begin = () => Step | null;

export interface Load {
  /** Flows that succeeded. */
  readonly flows: number;
  readonly requests: number;
  readonly seconds: number;
  /** Flows with a wrong response, and the first error. */
  readonly bad: number;
  readonly issue: string | null;
  /** Milliseconds per request. */
  readonly p50: number;
  readonly p99: number;
}

/** When to stop starting flows. Pending ones complete. */
export interface Until {
  readonly seconds?: number;
  readonly flows?: number;
}

/** Waits until a flow is due. @returns the time at which it was, as `performance.now()` does; `null` at the end */
export type Arrive = () => Promise<number | null>;

/** Loads a local server. @param arrive by default a flow begins when another of its connection ends */
export async function load(
  ports: readonly number[],
  begin: Begin,
  until: Until,
  connections = 64,
  arrive?: Arrive,
): Promise<Load> {
  const opened = await Promise.all(
    Array.from({ length: connections }, (_, index) => open(ports[index % ports.length] ?? 0)),
  );
  const times: number[] = [];
  const tally = { begun: 0, flows: 0, bad: 0, issue: null as string | null };
  const started = performance.now();
  const deadline = started + (until.seconds ?? Number.POSITIVE_INFINITY) * 1000;
  const most = until.flows ?? Number.POSITIVE_INFINITY;
  await Promise.all(opened.map(keepGoing));
  const seconds = (performance.now() - started) / 1000;
  for (const connection of opened) connection.destroy();
  const { flows, bad, issue } = tally;
  const sorted = Float64Array.from(times).sort();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { flows, bad, issue, seconds, requests: times.length, p50: at(0.5), p99: at(0.99) };

  function next(): Step | null {
    if (performance.now() >= deadline || tally.begun >= most) return null;
    tally.begun += 1;
    return begin();
  }

  function keepGoing(connection: Connection): Promise<void> {
    return new Promise((resolve, reject) => {
      let step: Step | null = null;
      let sent = 0;
      const send = (due = performance.now()): void => {
        if (step === null) return void resolve();
        sent = due;
        connection.send(step.request);
      };
      const beginNext = (due?: number): void => {
        step = next();
        send(due);
      };
      const proceed = (): void => {
        if (step !== null) send();
        else if (arrive === undefined) beginNext();
        else void arrive().then((due) => (due === null ? resolve() : beginNext(due)));
      };
      connection.listen(reject, (answer) => {
        times.push(performance.now() - sent);
        try {
          step = step?.read(answer) ?? null;
          if (step === null) tally.flows += 1;
        } catch (error) {
          tally.bad += 1;
          tally.issue ??=
            `${error instanceof Error ? error.message : error}: ${answer.head} ${answer.body}`.slice(0, 600);
          step = null;
        }
        proceed();
      });
      proceed();
    });
  }
}

/** Runs one flow, for set-up. @throws Error for a wrong response */
export async function walk(port: number, begin: Begin): Promise<void> {
  const { issue } = await load([port], begin, { flows: 1 }, 1);
  if (issue !== null) throw new Error(issue);
}

/** A persistent connection. */
interface Connection {
  send(request: string): void;
  listen(fail: (error: Error) => void, take: (answer: Answer) => void): void;
  destroy(): void;
}

function open(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(connectionOf(socket)));
    socket.once('error', reject);
  });
}

function connectionOf(socket: Socket): Connection {
  let received = '';
  return {
    send: (request) => void socket.write(request, 'latin1'),
    listen(fail, take) {
      socket.on('error', fail);
      socket.on('close', () => fail(new Error('The server closed a connection.')));
      socket.on('data', (chunk: Buffer) => {
        received += chunk.toString('latin1');
        const answer = readAnswer(received);
        if (answer === null) return;
        received = '';
        take(answer);
      });
    },
    destroy() {
      socket.removeAllListeners('close');
      socket.destroy();
    },
  };
}

/** The whole response, as only one request is pending; `null` while it is incomplete. */
function readAnswer(text: string): Answer | null {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const head = text.slice(0, end);
  const rest = text.slice(end + 4);
  const status = Number(head.slice(9, 12));
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) return rest.length >= Number(length) ? { status, head, body: rest } : null;
  if (!/\r\ntransfer-encoding: chunked/i.test(head)) return { status, head, body: '' };
  return rest.endsWith('0\r\n\r\n') ? { status, head, body: joinChunks(rest) } : null;
}

function joinChunks(text: string): string {
  let body = '';
  for (let at = 0; ; ) {
    const line = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, line), 16);
    if (!(size > 0)) return body;
    body += text.slice(line + 2, line + 2 + size);
    at = line + 4 + size;
  }
}

/** The text of a request, whose body must be ASCII. */
export function request(
  method: 'GET' | 'POST',
  path: string,
  fields: Readonly<Record<string, string>> = {},
  body = '',
): string {
  const all = body === '' ? fields : { ...fields, 'content-length': String(body.length) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${lines.join('')}\r\n${body}`;
}

/** The text of a posted form. */
export function form(
  path: string,
  parameters: Readonly<Record<string, string>> | [string, string][],
  fields: Readonly<Record<string, string>> = {},
): string {
  const body = new URLSearchParams(parameters).toString();
  return request('POST', path, { 'content-type': 'application/x-www-form-urlencoded', ...fields }, body);
}
