/**
 * A shell for the blocks of one document: a folder with a database, a server that runs, `portcullis` that runs in the process of the
 * test, and a browser whose user allows everything. Programs that cannot run here succeed without doing anything.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createComputer } from '../../packages/cli/test/support/command.ts';
import { runHere } from '../../packages/cli/test/support/in-process.ts';
import { owner } from '../support/portcullis.ts';
import { serveCommand } from '../support/served-command.ts';
import { createUser } from '../support/user.ts';

export interface Shell extends AsyncDisposable {
  readonly folder: string;
  /** Of the server that runs. */
  readonly url: string;
  /** Runs lines to their end. @throws Error with their output if one of them fails */
  run(lines: string, variables?: Readonly<Record<string, string>>): Promise<string>;
  write(name: string, text: string): void;
}

interface ShellOptions {
  /** The configuration of the server that runs. */
  readonly configuration: object;
  /** Programs that cannot run here. */
  readonly absent: readonly string[];
  /** Further variables of the server. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Programs of the system that blocks may use, beside `portcullis`. */
const TOOLS = [
  'bash',
  'cat',
  'chmod',
  'cp',
  'curl',
  'date',
  'env',
  'grep',
  'ls',
  'mkdir',
  'openssl',
  'rm',
  'sh',
  'tr',
];

function findProgram(name: string): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${name} is not installed`);
  return found;
}

/** Sends the folder, the words and the environment to the test, which runs the command, and prints what it printed. */
const PORTCULLIS = (port: number) => `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/${port}
{ printf '%s\\0' "$PWD" "$#" "$@"; env -0; printf 'end\\0'; } >&3
read -r code out <&3
[ -z "$out" ] || { cat "$out.out"; cat "$out.err" >&2; rm "$out.out" "$out.err"; }
exit "$code"
`;

const CREATE = fileURLToPath(new URL('../../packages/create-portcullis/bin.js', import.meta.url));

/** Of what npm does, our command, and `npm create portcullis` without its questions and without a start. */
const NPM = `#!/bin/bash
case "$*" in
  'run -s portcullis -- '*) exec portcullis "\${@:5}" ;;
  'create portcullis '*' -- '*) exec node --conditions=portcullis-source '${CREATE}' "$3" "\${@:5}" --no-start ;;
esac
`;

const MCP_SERVER = fileURLToPath(new URL('mcp-server.ts', import.meta.url));

const NPX = `#!/bin/bash
case "$1 $2" in
  '@portcullis/cli'*) exec portcullis "\${@:2}" ;;
  '-y @modelcontextprotocol/server-'*) exec node '${MCP_SERVER}' ;;
esac
`;

export async function openShell(options: ShellOptions): Promise<Shell> {
  const { configuration, absent } = options;
  const computer = createComputer(createUser(owner));
  const { folder } = computer;
  const bin = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  };
  for (const name of absent) bin(name, '#!/bin/sh\n');
  for (const name of TOOLS) symlinkSync(findProgram(name), join(folder, name));
  bin('npm', NPM);
  bin('npx', NPX);
  bin('node', `#!/bin/sh\nexec '${process.execPath}' "$@"\n`);

  const environment = { ...computer.environment, PATH: folder, XDG_CONFIG_HOME: folder, TZ: 'UTC' };
  // Processes of stdio servers are searched as those of the test.
  const path = process.env['PATH'];
  process.env['PATH'] = folder;
  let runs = 0;
  const commands = createServer((socket) => {
    respond(socket, async ({ cwd, words, variables: given }) => {
      const ended = await runCommand(words, { folder: cwd, environment: given });
      runs += 1;
      const file = join(folder, `run-${runs}`);
      writeFileSync(`${file}.out`, ended.output);
      writeFileSync(`${file}.err`, ended.errors);
      return `${ended.code} ${file}\n`;
    });
  });
  await once(commands.listen(0, '127.0.0.1'), 'listening');
  bin('portcullis', PORTCULLIS((commands.address() as AddressInfo).port));

  writeFileSync(join(folder, 'server.json'), JSON.stringify(configuration));
  const account = { PORTCULLIS_BOOTSTRAP_EMAIL: owner.email, PORTCULLIS_BOOTSTRAP_PASSWORD: owner.password };
  const server = await serveCommand(['up', '--config', 'server.json'], {
    folder,
    environment: { ...environment, ...options.environment, ...account, PORTCULLIS_PORT: '0' },
  });
  return {
    folder,
    url: server.url,
    async run(lines, more = {}) {
      const { stdout, stderr } = await promisify(execFile)(
        'bash',
        ['--norc', '-euo', 'pipefail', '-c', lines],
        {
          cwd: folder,
          env: { ...environment, ...more },
        },
      );
      return stdout + stderr;
    },
    write(name, text) {
      const path = join(folder, name);
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, text, { mode: 0o600 });
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      commands.close();
      process.env['PATH'] = path;
      computer.close();
    },
  };
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** The doctor changes nothing, takes a second and ends many documents: its reports, by its words without the port. */
const examined = new Map<string, Promise<Ended>>();

/** Servers are stopped as soon as they are ready, and followers see what there is. */
async function runCommand(
  words: readonly string[],
  context: { readonly folder: string; readonly environment: Readonly<Record<string, string>> },
): Promise<Ended> {
  if (words[0] === 'doctor') {
    const key = words.join(' ').replaceAll(/:\d+/g, '');
    const examination = examined.get(key) ?? runHere(words, context);
    examined.set(key, examination);
    return examination;
  }
  const serves = (words[0] === 'up' || words[0] === 'protect') && !words.includes('--help');
  if (!serves)
    return runHere(
      words.filter((word) => word !== '--follow'),
      context,
    );
  try {
    const environment = { PORTCULLIS_PORT: '0', ...context.environment };
    const server = await serveCommand(words, { ...context, environment });
    return { code: await server.stop(), output: server.output(), errors: '' };
  } catch (error) {
    return { code: 1, output: '', errors: String(error) };
  }
}

interface Request {
  readonly cwd: string;
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

/** Reads what `PORTCULLIS` sends, fields that end with NUL, and responds. */
function respond(socket: Socket, act: (request: Request) => Promise<string>): void {
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (text.endsWith('\0end\0')) void act(readRequest(text)).then((line) => socket.end(line));
  });
}

function readRequest(text: string): Request {
  const [cwd = '', count, ...fields] = text.split('\0').slice(0, -2);
  const words = fields.slice(0, Number(count));
  const variables = fields.slice(words.length).map((field): [string, string] => {
    const [name = ''] = field.split('=', 1);
    return [name, field.slice(name.length + 1)];
  });
  return { cwd, words, variables: Object.fromEntries(variables) };
}
