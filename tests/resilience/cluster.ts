/** The cluster of docs/guides/high-availability.md with the configuration files of that page: etcd, Patroni and PostgreSQL on each node. */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { expect, vi } from 'vitest';
import { reservePort } from '../support/ports.ts';
import { addressOf, env, killWithUs, NODES, type Node, type Nodes, startNodes } from './nodes.ts';
import type { AtEnd } from './servers.ts';

const page = readFileSync(new URL('../../docs/guides/high-availability.md', import.meta.url), 'utf8');
const blockOf = (language: string) =>
  new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? '';

const run = promisify(execFile);
const MINUTES = { timeout: 240_000, interval: 500 };

export interface Cluster {
  readonly nodes: Nodes;
  /** The location of the database behind HAProxy. */
  readonly location: string;
  leader(): Promise<Node>;
  /** Until another node than this is the leader. */
  untilReplaced(node: Node): Promise<void>;
  /** Until there are a leader, a synchronous replica and another. */
  untilWhole(): Promise<void>;
  /** To the synchronous replica. */
  switchover(): Promise<void>;
  /** Starts what does not run on a node. */
  start(node: Node): void;
  ask(query: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export async function startCluster(atEnd: AtEnd): Promise<Cluster> {
  const nodes = await startNodes(atEnd);
  for (const node of NODES) {
    writeConfiguration(node, nodes.diskOf(node));
    await run('chown', ['-R', 'postgres:postgres', nodes.diskOf(node)]);
  }

  function start(node: Node): void {
    const lines = readFileSync(join(nodes.diskOf(node), 'etcd.env'), 'utf8')
      .trim()
      .split('\n');
    const settings = lines.map((line): [string, string] => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)];
    });
    if (nodes.hasEnded(node, 'etcd'))
      nodes.run(node, { ...Object.fromEntries(settings), ETCD_LOG_LEVEL: 'error' }, 'etcd');
    if (nodes.hasEnded(node, 'patroni'))
      nodes.run(node, {}, 'patroni', join(nodes.diskOf(node), 'patroni.yml'));
  }
  for (const node of NODES) start(node);

  const patronictl = (...words: readonly string[]) =>
    run('patronictl', ['-c', join(nodes.diskOf('node1'), 'patroni.yml'), ...words], {
      env: { ...env, LC_ALL: 'C.UTF-8' },
    });
  /** The nodes of a role by their own Patroni: etcd on a node that was separated may still know the roles before. */
  async function findAll(role: 'primary' | 'synchronous' | 'replica'): Promise<readonly Node[]> {
    const has = (node: Node) =>
      fetch(`http://${addressOf(node)}:8008/${role}`, { signal: AbortSignal.timeout(1000) }).then(
        async ({ status, body }) => {
          await body?.cancel();
          return status === 200;
        },
        () => false,
      );
    const found = await Promise.all(NODES.map(has));
    return NODES.filter((_node, index) => found[index]);
  }
  const findLeader = async () => (await findAll('primary'))[0];
  async function leader(): Promise<Node> {
    return vi.waitFor(async () => {
      const found = await findLeader();
      if (found === undefined) throw new Error('no node is the leader');
      return found;
    }, MINUTES);
  }
  const withLogs = (cause: unknown) => {
    throw new Error(NODES.map((node) => `${node}: ${nodes.logOf(node)}`).join('\n'), { cause });
  };
  async function untilWhole(): Promise<void> {
    const check = async () => {
      const roles = (['primary', 'synchronous', 'replica'] as const).map(findAll);
      expect((await Promise.all(roles)).map(({ length }) => length)).toEqual([1, 1, 2]);
    };
    await vi.waitFor(check, MINUTES).catch(withLogs);
  }

  await untilWhole();
  const superuser = /superuser:.*password: (\S+) /.exec(blockOf('patroni'))?.[1] ?? '';
  const first = await connectTo(`postgres://postgres:${superuser}@${addressOf(await leader())}/postgres`);
  for (const statement of blockOf('sql')
    .split(';\n')
    .filter((text) => text !== ''))
    await first.query(statement);
  await first.end();

  const location = await startProxy(nodes.folder, atEnd);
  const ask: Cluster['ask'] = async (query) => {
    const client = await connectTo(location);
    try {
      return (await client.query<Record<string, unknown>>(query)).rows;
    } finally {
      await client.end();
    }
  };
  // Until its first checks, HAProxy takes each of the three for the primary.
  const arePrimary = () =>
    Promise.all(NODES.map(async () => (await ask('SELECT pg_is_in_recovery() AS r'))[0]?.['r'] === false));
  await vi.waitFor(async () => expect(await arePrimary()).not.toContain(false), MINUTES);
  return {
    nodes,
    location,
    leader,
    async untilReplaced(node) {
      const check = async () => expect([undefined, node]).not.toContain(await findLeader());
      await vi.waitFor(check, MINUTES).catch(withLogs);
    },
    untilWhole,
    async switchover() {
      const [next = ''] = await findAll('synchronous');
      const words = ['--leader', await leader(), '--candidate', next];
      await patronictl('switchover', 'portcullis', ...words, '--force');
    },
    start,
    ask,
  };
}

/** The files of the page, with the name and address of the node and its folder. */
function writeConfiguration(node: Node, folder: string): void {
  const own = (text: string) =>
    text
      .replace(/^(ETCD_NAME=|name: )node1$/m, `$1${node}`)
      .replaceAll(/^(.*(?:_URLS=|listen: |connect_address: ).*)10\.77\.0\.1(?!\d)/gm, `$1${addressOf(node)}`)
      .replaceAll(/\/var\/(?:lib|run)\/(?=etcd|postgresql)/g, `${folder}/`);
  writeFileSync(join(folder, 'etcd.env'), own(blockOf('etcd')));
  writeFileSync(join(folder, 'patroni.yml'), own(blockOf('patroni')));
  for (const name of ['etcd', 'postgresql', 'postgresql/15']) mkdirSync(join(folder, name));
}

/** Starts the HAProxy of the page. @returns the location of the database behind it */
async function startProxy(folder: string, atEnd: AtEnd): Promise<string> {
  const port = await reservePort();
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, blockOf('haproxy').replace('127.0.0.1:5000', `127.0.0.1:${port}`));
  const haproxy = spawn('haproxy', ['-db', '-f', file], { env, stdio: 'ignore' });
  killWithUs(haproxy);
  atEnd(async () => {
    haproxy.kill('SIGKILL');
  });
  const password = /PASSWORD '([^']+)'/.exec(blockOf('sql'))?.[1] ?? '';
  return `postgres://portcullis:${password}@127.0.0.1:${port}/portcullis`;
}

async function connectTo(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  await client.connect();
  return client;
}
