/**
 * The cluster of docs/guides/high-availability.md with the configuration files of that page: each node has a network namespace, a small file
 * system in memory, etcd, Patroni and PostgreSQL. Needs root, which makes them; all programs of the nodes run as the user of PostgreSQL.
 */
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { expect } from 'vitest';
import { reservePort } from '../support/ports.ts';
import type { AtEnd } from './servers.ts';

const page = readFileSync(new URL('../../docs/guides/high-availability.md', import.meta.url), 'utf8');
const blockOf = (language: string) =>
  new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? '';

const run = promisify(execFile);
const NODES = ['node1', 'node2', 'node3'] as const;
type Node = (typeof NODES)[number];
const addressOf = (node: Node) => `10.77.0.${node.slice(4)}`;
/** Bytes of a node's file system: its database and write-ahead log. */
const DISK = '1536m';

/** What is missing here; `null`: nothing. */
export async function findMissing(): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'root';
  const programs = ['ip', 'etcd', 'etcdctl', 'patroni', 'patronictl', 'haproxy', 'setpriv'];
  const found = await Promise.all(
    programs.map((program) =>
      run('which', [program], { env }).then(
        () => null,
        () => program,
      ),
    ),
  );
  return found.find((program) => program !== null) ?? null;
}

const env = { ...process.env, PATH: `/usr/sbin:/sbin:${process.env['PATH']}` };
const launch = (program: string, words: readonly string[], options: SpawnOptions) =>
  spawn(program, [...words], options);
const ip = (...words: readonly string[]) => run('ip', [...words], { env });

interface Member {
  readonly node: Node;
  readonly role: string;
  readonly state: string;
}

export interface Cluster {
  /** The location of the database behind HAProxy. */
  readonly location: string;
  leader(): Promise<Node>;
  /** Until there are a leader, a synchronous replica and another. */
  untilWhole(): Promise<void>;
  switchover(): Promise<void>;
  /** Ends all processes of a node at once. */
  kill(node: Node): Promise<void>;
  start(node: Node): Promise<void>;
  ask(query: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export async function startCluster(atEnd: AtEnd): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-cluster-'));
  await run('chmod', ['755', folder]);
  const id = process.pid.toString(36);
  const bridge = `pc${id}`;
  const spaceOf = (node: Node) => `pc${id}-${node}`;
  const linkOf = (node: Node) => `pc${id}${node.slice(4)}`;
  const diskOf = (node: Node) => join(folder, node);
  const running = new Map<Node, ChildProcess[]>();

  atEnd(async () => {
    for (const node of NODES) await kill(node).catch(() => {});
    for (const node of NODES) await ip('netns', 'delete', spaceOf(node)).catch(() => {});
    await ip('link', 'delete', bridge).catch(() => {});
    for (const node of NODES) await run('umount', ['-l', diskOf(node)]).catch(() => {});
    rmSync(folder, { recursive: true, force: true });
  });

  await ip('link', 'add', bridge, 'type', 'bridge');
  await ip('address', 'add', '10.77.0.254/24', 'dev', bridge);
  await ip('link', 'set', bridge, 'up');
  for (const node of NODES) {
    await ip('netns', 'add', spaceOf(node));
    await ip('link', 'add', linkOf(node), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', spaceOf(node));
    await ip('link', 'set', linkOf(node), 'master', bridge, 'up');
    await ip('-n', spaceOf(node), 'address', 'add', `${addressOf(node)}/24`, 'dev', 'eth0');
    await ip('-n', spaceOf(node), 'link', 'set', 'eth0', 'up');
    await ip('-n', spaceOf(node), 'link', 'set', 'lo', 'up');
    mkdirSync(diskOf(node));
    await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK},mode=755`, 'tmpfs', diskOf(node)]);
    writeConfiguration(node);
    await run('chown', ['-R', 'postgres:postgres', diskOf(node)]);
  }

  /** The files of the page, with the name and address of the node and its folder. */
  function writeConfiguration(node: Node): void {
    const own = (text: string) =>
      text
        .replace(/^(ETCD_NAME=|name: )node1$/m, `$1${node}`)
        .replaceAll(
          /^(.*(?:_URLS=|listen: |connect_address: ).*)10\.77\.0\.1(?!\d)/gm,
          `$1${addressOf(node)}`,
        )
        .replaceAll(/\/var\/(?:lib|run)\/(?=etcd|postgresql)/g, `${diskOf(node)}/`);
    writeFileSync(join(diskOf(node), 'etcd.env'), own(blockOf('etcd')));
    writeFileSync(join(diskOf(node), 'patroni.yml'), own(blockOf('patroni')));
    for (const name of ['etcd', 'postgresql', 'postgresql/15']) mkdirSync(join(diskOf(node), name));
  }

  /** Starts a program of a node in its network, as the user of PostgreSQL. */
  function startIn(
    node: Node,
    variables: Readonly<Record<string, string>>,
    ...words: readonly string[]
  ): void {
    const user = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', '--'];
    const child = launch('ip', ['netns', 'exec', spaceOf(node), ...user, ...words], {
      cwd: diskOf(node),
      env: { PATH: env.PATH, LC_ALL: 'C.UTF-8', HOME: diskOf(node), ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // Not on its own disk, which may be full.
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text) => appendFileSync(join(folder, `${node}.log`), String(text)));
    }
    running.set(node, [...(running.get(node) ?? []), child]);
  }

  const logOf = (node: Node) => readFileSync(join(folder, `${node}.log`), 'utf8').slice(-4000);

  async function start(node: Node): Promise<void> {
    const lines = readFileSync(join(diskOf(node), 'etcd.env'), 'utf8')
      .trim()
      .split('\n');
    const settings = lines.map((line): [string, string] => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)];
    });
    startIn(node, { ...Object.fromEntries(settings), ETCD_LOG_LEVEL: 'error' }, 'etcd');
    startIn(node, {}, 'patroni', join(diskOf(node), 'patroni.yml'));
  }

  async function kill(node: Node): Promise<void> {
    const { stdout } = await ip('netns', 'pids', spaceOf(node));
    for (const pid of stdout.split('\n').filter((line) => line !== '')) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // It has ended meanwhile.
      }
    }
    const children = running.get(node) ?? [];
    running.set(node, []);
    await Promise.all(
      children.map((child) => child.exitCode === null && child.signalCode === null && once(child, 'exit')),
    );
  }

  await Promise.all(NODES.map(start));

  const patronictl = (...words: readonly string[]) =>
    run('patronictl', ['-c', join(diskOf('node1'), 'patroni.yml'), ...words], {
      env: { ...env, LC_ALL: 'C.UTF-8' },
    });

  async function members(): Promise<readonly Member[]> {
    const { stdout } = await patronictl('list', '--format', 'json');
    return (JSON.parse(stdout) as readonly { Member: Node; Role: string; State: string }[]).map(
      ({ Member: node, Role: role, State: state }) => ({ node, role, state }),
    );
  }
  const find = async (role: string) =>
    (await members()).find((member) => member.role === role && member.state === 'running')?.node;
  const MINUTES = { timeout: 240_000, interval: 1000 };
  async function leader(): Promise<Node> {
    await expect.poll(() => find('Leader').catch(() => undefined), MINUTES).toBeDefined();
    return (await find('Leader')) ?? leader();
  }
  async function untilWhole(): Promise<void> {
    const roles = async () =>
      (await members().catch(() => []))
        .filter(({ state }) => state === 'running' || state === 'streaming')
        .map(({ role }) => role)
        .sort();
    await expect
      .poll(roles, MINUTES)
      .toEqual(['Leader', 'Replica', 'Sync Standby'])
      .catch((cause: unknown) => {
        throw new Error(NODES.map((node) => `${node}: ${logOf(node)}`).join('\n'), { cause });
      });
  }

  await untilWhole();
  const superuser = /superuser:.*password: (\S+) /.exec(blockOf('patroni'))?.[1] ?? '';
  const first = await connectTo(`postgres://postgres:${superuser}@${addressOf(await leader())}/postgres`);
  for (const statement of blockOf('sql')
    .split(';\n')
    .filter((text) => text !== ''))
    await first.query(statement);
  await first.end();

  const port = await reservePort();
  const proxy = join(folder, 'haproxy.cfg');
  writeFileSync(proxy, blockOf('haproxy').replace('127.0.0.1:5000', `127.0.0.1:${port}`));
  const haproxy = launch('haproxy', ['-db', '-f', proxy], { env, stdio: 'ignore' });
  atEnd(async () => {
    haproxy.kill('SIGKILL');
  });
  const password = /PASSWORD '([^']+)'/.exec(blockOf('sql'))?.[1] ?? '';
  const location = `postgres://portcullis:${password}@127.0.0.1:${port}/portcullis`;
  await expect
    .poll(
      () =>
        connectTo(location).then(
          (client) => client.end().then(() => true),
          () => false,
        ),
      MINUTES,
    )
    .toBe(true);

  return {
    location,
    leader,
    untilWhole,
    async switchover() {
      const before = await leader();
      await patronictl('switchover', 'portcullis', '--leader', before, '--force');
    },
    kill,
    start,
    async ask(query) {
      const client = await connectTo(location);
      try {
        return (await client.query<Record<string, unknown>>(query)).rows;
      } finally {
        await client.end();
      }
    },
  };
}

async function connectTo(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  await client.connect();
  return client;
}
