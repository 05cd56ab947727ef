/** The proxies of docs/guides/reverse-proxy.md as installed programs, each started with its configuration from that page. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { reservePort } from '../support/ports.ts';

const page = readFileSync(new URL('../../docs/guides/reverse-proxy.md', import.meta.url), 'utf8');

/** The first block of the page in this language. */
export function blockOf(language: string): string {
  const block = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1];
  if (block === undefined) throw new Error(`no block of the page is ${language}`);
  return block;
}

export const HOST = 'auth.example.com';
/** The timeout of the page, and the one of the tests in its place: longer than the gateway leaves a call of a process silent. */
export const TIMEOUT = 310;
export const SHORT_TIMEOUT = 8;

interface Files {
  /** Its own folder. */
  readonly folder: string;
  /** The configuration of the page. */
  readonly recipe: string;
  readonly port: number;
}

export interface Proxy {
  readonly name: 'nginx' | 'Caddy' | 'HAProxy' | 'Apache';
  /** Its program, and the language of its block. */
  readonly program: string;
  readonly block: string;
  /** Prints its version. */
  readonly version: readonly string[];
  /** The status with which it ends a silent call after the timeout; `null`: it has none. */
  readonly timeoutStatus: number | null;
  /** Where the page listens on port 443, and the port of the test in its place. */
  readonly listen: readonly (readonly [string, (port: number) => string])[];
  /** The main file, which the package of the program brings otherwise. */
  main(files: Files): string;
  /** The words that start it in the foreground. */
  start(main: string, files: Files): readonly string[];
}

const isRoot = process.getuid?.() === 0;

export const proxies: readonly Proxy[] = [
  {
    name: 'nginx',
    program: 'nginx',
    block: 'nginx',
    version: ['-v'],
    timeoutStatus: 504,
    listen: [['listen 443', (port) => `listen 127.0.0.1:${port}`]],
    main: ({ folder, recipe }) => `daemon off;
pid ${folder}/pid;
error_log stderr;
${isRoot ? 'user daemon daemon;' : ''}
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  include ${recipe};
}
`,
    start: (main, { folder }) => ['-p', folder, '-e', 'stderr', '-c', main],
  },
  {
    name: 'Caddy',
    program: 'caddy',
    block: 'caddy',
    version: ['version'],
    timeoutStatus: null,
    listen: [],
    main: ({ folder, recipe, port }) => `{
  admin off
  https_port ${port}
  default_bind 127.0.0.1
  auto_https disable_redirects
  storage file_system ${folder}
}
import ${recipe}
`,
    start: (main) => ['run', '--adapter', 'caddyfile', '--config', main],
  },
  {
    name: 'HAProxy',
    program: 'haproxy',
    block: 'haproxy',
    version: ['-v'],
    timeoutStatus: 504,
    listen: [['bind :443', (port) => `bind 127.0.0.1:${port}`]],
    main: () => '',
    start: (main, { recipe }) => ['-db', '-f', main, '-f', recipe],
  },
  {
    name: 'Apache',
    program: 'apache2',
    block: 'apache',
    version: ['-v'],
    timeoutStatus: 502,
    listen: [['*:443', (port) => `*:${port}`]],
    main: ({ folder, recipe, port }) => `ServerName localhost
ServerRoot ${folder}
DefaultRuntimeDir ${folder}
PidFile ${folder}/pid
ErrorLog ${folder}/log
${isRoot ? 'User daemon\nGroup daemon' : ''}
${['mpm_event', 'authz_core', 'socache_shmcb', 'ssl', 'http2', 'proxy', 'proxy_http', 'headers', 'reqtimeout']
  .map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`)
  .join('\n')}
Listen 127.0.0.1:${port}
Include ${recipe}
`,
    start: (main) => ['-D', 'FOREGROUND', '-f', main],
  },
];

/** Where Debian installs programs for administrators. */
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` };

/** The version of an installed program; `null`: it is not installed. */
export async function versionOf({ program, version }: Proxy): Promise<string | null> {
  return promisify(execFile)(program, [...version], { env }).then(
    ({ stdout, stderr }) => /\d+\.\d+\.\d+/.exec(stdout + stderr)?.[0] ?? 'unknown',
    () => null,
  );
}

export interface RunningProxy {
  /** Of TLS, on 127.0.0.1. */
  readonly port: number;
  stop(): Promise<void>;
}

/** A certificate for the host of the page, in the files that the page names. */
function createCertificate(folder: string): void {
  const file = (type: string) => join(folder, `${HOST}.${type}`);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', file('key')];
  const subject = ['-subj', `/CN=${HOST}`, '-addext', `subjectAltName=DNS:${HOST}`, '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', file('crt'), ...subject], { stdio: 'ignore' });
  chmodSync(file('key'), 0o644);
}

/**
 * Starts a proxy with its configuration of the page, other ports, and the short timeout.
 * @param target the port of Portcullis
 * @param strips whether the line that removes `/tools` is no comment
 */
export async function startProxy(proxy: Proxy, target: number, strips: boolean): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), `portcullis-${proxy.program}-`));
  // Its workers are another user.
  chmodSync(folder, 0o755);
  const certificates = join(folder, 'certificates');
  mkdirSync(certificates);
  createCertificate(certificates);
  const port = await reservePort();
  const changes: readonly (readonly [string, string])[] = [
    // Before the ports and the folder, which may contain the same digits.
    ...(proxy.timeoutStatus !== null ? [[String(TIMEOUT), String(SHORT_TIMEOUT)] as const] : []),
    ['127.0.0.1:8484', `127.0.0.1:${target}`],
    ['/etc/ssl/portcullis', certificates],
    ...proxy.listen.map(([on443, onPort]) => [on443, onPort(port)] as const),
  ];
  let recipe = blockOf(proxy.block);
  for (const [before, after] of changes) {
    if (!recipe.includes(before)) throw new Error(`the ${proxy.block} block lacks ${before}`);
    recipe = recipe.replaceAll(before, after);
  }
  if (strips) recipe = recipe.replace(/^( *)# (.*\/tools)/m, '$1$2');
  const files: Files = { folder, recipe: join(folder, 'recipe.conf'), port };
  writeFileSync(files.recipe, recipe);
  const main = join(folder, 'main.conf');
  writeFileSync(main, proxy.main(files));

  const child = spawn(proxy.program, [...proxy.start(main, files)], {
    env: { ...env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const ended = once(child, 'exit').finally(() => process.off('exit', killWithUs));
  await untilListening(port, () => {
    if (child.exitCode !== null) throw new Error(`${proxy.name} ended with ${child.exitCode}: ${log}`);
  });
  return {
    port,
    async stop() {
      if (child.exitCode === null) child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilListening(port: number, check: () => void): Promise<void> {
  for (;;) {
    check();
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () =>
        setTimeout(resolve, 50, false),
      );
      socket.once('connect', () => socket.destroy());
    });
    if (isOpen) return;
  }
}
