/** Starting server processes, killing them, and talking to them over sockets that stay open. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sourceFlags } from '../support/source-flags.ts';

/** Notes what has to be done when the test has ended. */
export type AtEnd = (end: () => Promise<void>) => void;

export interface ServerProcess {
  readonly port: number;
  readonly pid: number;
  /** Presents each refresh token in the process itself, many at a time. @returns the successor of each, or what was wrong */
  present(tokens: readonly string[]): Promise<readonly string[]>;
  /** At once, without a chance to tidy up. */
  kill(): Promise<void>;
  /** Answers the exit code. */
  stop(): Promise<number | null>;
}

const script = fileURLToPath(new URL('server-process.ts', import.meta.url));

/**
 * @param patience seconds that it waits for its store
 * @param more `skew=3600`: its clock is an hour ahead; `organization=http://…`: it
 * accepts the ID-JAGs of that issuer; `provisioning`: an identity provider synchronizes users by SCIM
 */
export async function startProcess(
  location: string,
  atEnd: AtEnd,
  patience = 5,
  ...more: readonly (
    | 'provisioning'
    | 'provisioning-unlimited'
    | `skew=${number}`
    | `organization=${string}`
  )[]
): Promise<ServerProcess> {
  const child = spawn(
    process.execPath,
    [...sourceFlags(), script, location, '0', String(patience), ...more],
    {
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    },
  );
  let errors = '';
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('no pipes');
  stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  atEnd(() => end(child, 'SIGKILL').then(() => undefined));
  const gone = once(child, 'exit').then(([code]) =>
    Promise.reject(new Error(`it ended with ${code}: ${errors}`)),
  );
  gone.catch(() => {});
  const [line] = await Promise.race([once(createInterface(stdout), 'line'), gone]);
  return {
    port: Number(String(line).replace('ready ', '')),
    pid: child.pid ?? 0,
    async present(tokens) {
      child.send([...tokens]);
      const [outcomes] = await Promise.race([once(child, 'message'), gone]);
      return outcomes as readonly string[];
    },
    kill: () => end(child, 'SIGKILL').then(() => undefined),
    stop: () => end(child, 'SIGTERM'),
  };
}

async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }
  return child.exitCode;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON body; `{}` when it is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** A posted form. */
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly method?: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 200 });

/** Sends a request to a server. Rejects without a response: then its outcome is unknown. */
export function send({ port }: Pick<ServerProcess, 'port'>, path: string, sent: Sent = {}): Promise<Answer> {
  const body = bodyOf(sent);
  const method = sent.method ?? (body === null ? 'GET' : 'POST');
  const headers = {
    ...(body !== null && { 'content-type': body.type, 'content-length': Buffer.byteLength(body.text) }),
    ...sent.headers,
  };
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        text += chunk;
      });
      incoming.once('error', reject);
      incoming.once('aborted', () => reject(new Error('the answer broke off')));
      incoming.once('end', () => {
        const received = new Headers();
        for (const [name, values] of Object.entries(incoming.headersDistinct)) {
          for (const value of values ?? []) received.append(name, value);
        }
        resolve({
          status: incoming.statusCode ?? 0,
          headers: received,
          text,
          body: readJson(received, text),
        });
      });
    });
    outgoing.once('error', reject);
    outgoing.end(body?.text);
  });
}

function bodyOf({ form, json }: Sent): { readonly type: string; readonly text: string } | null {
  if (form !== undefined) {
    return { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(form).toString() };
  }
  return json === undefined ? null : { type: 'application/json', text: JSON.stringify(json) };
}

function readJson(headers: Headers, text: string): Readonly<Record<string, unknown>> {
  if (headers.get('content-type') !== 'application/json' || text === '') return {};
  return JSON.parse(text) as Record<string, unknown>;
}
