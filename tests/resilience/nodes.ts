/**
 * Three computers in network namespaces of this one, each with a small file system in memory. Their processes can be killed, their
 * network separated and their disk filled. Needs root.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { AtEnd } from './servers.ts';

export const NODES = ['node1', 'node2', 'node3'] as const;
export type Node = (typeof NODES)[number];
export const addressOf = (node: Node): string => `10.77.0.${node.slice(4)}`;
/** Bytes of a node's file system: its database and write-ahead log. */
const DISK = '2560m';

/** With the folders of programs for administrators. */
export const env: NodeJS.ProcessEnv = { ...process.env, PATH: `/usr/sbin:/sbin:${process.env['PATH']}` };
const run = promisify(execFile);
const ip = (...words: readonly string[]) => run('ip', [...words], { env });

/** The first program that is not installed here, or `root`; `null`: nothing is missing. */
export async function findMissing(): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'root';
  const programs = [
    'ip',
    'nft',
    'etcd',
    'etcdctl',
    'patroni',
    'patronictl',
    'haproxy',
    'setpriv',
    'fallocate',
  ];
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

/** A run that is interrupted leaves no process. */
export function killWithUs(child: ChildProcess): void {
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
}

/** What a node no longer reaches: the other nodes, or everything else. */
type Separation = 'nodes' | 'everything';

export interface Nodes {
  /** Of files that are on no disk of a node. */
  readonly folder: string;
  diskOf(node: Node): string;
  /** Starts a program in the network of a node, as the user of PostgreSQL. */
  run(node: Node, variables: Readonly<Record<string, string>>, ...words: readonly string[]): void;
  /** Whether a program that was started there has ended by itself. */
  hasEnded(node: Node, program: string): boolean;
  /** The end of what its programs said. */
  logOf(node: Node): string;
  /** Ends all its processes at once. */
  kill(node: Node): Promise<void>;
  separate(node: Node, from: Separation): Promise<void>;
  connect(node: Node): Promise<void>;
  /** Leaves no byte of its disk free. */
  fill(node: Node): Promise<void>;
  free(node: Node): void;
}

export async function startNodes(atEnd: AtEnd): Promise<Nodes> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-cluster-'));
  await run('chmod', ['755', folder]);
  const id = process.pid.toString(36);
  const bridge = `pc${id}`;
  const spaceOf = (node: Node) => `pc${id}-${node}`;
  const linkOf = (node: Node) => `pc${id}${node.slice(4)}`;
  const diskOf = (node: Node) => join(folder, node);
  const running = new Map<Node, { readonly program: string; readonly child: ChildProcess }[]>();
  const hasExited = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

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
    await Promise.all(children.map(({ child }) => hasExited(child) || once(child, 'exit')));
  }

  atEnd(async () => {
    for (const node of NODES) await kill(node).catch(() => {});
    for (const node of NODES) await ip('netns', 'delete', spaceOf(node)).catch(() => {});
    await ip('link', 'delete', bridge).catch(() => {});
    await run('nft', ['delete', 'table', 'bridge', bridge], { env }).catch(() => {});
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
  }

  const nft = async (rules: string): Promise<void> => {
    const loading = run('nft', ['-f', '-'], { env });
    loading.child.stdin?.end(rules);
    await loading;
  };

  return {
    folder,
    diskOf,
    run(node, variables, ...words) {
      const user = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', '--'];
      const child = spawn('ip', ['netns', 'exec', spaceOf(node), ...user, ...words], {
        cwd: diskOf(node),
        env: { PATH: env['PATH'], LC_ALL: 'C.UTF-8', HOME: diskOf(node), ...variables },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      killWithUs(child);
      // Not on its own disk, which may be full.
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (text) => appendFileSync(join(folder, `${node}.log`), String(text)));
      }
      running.set(node, [...(running.get(node) ?? []), { program: words[0] ?? '', child }]);
    },
    hasEnded: (node, program) =>
      (running.get(node) ?? []).every((one) => one.program !== program || hasExited(one.child)),
    logOf: (node) => readFileSync(join(folder, `${node}.log`), 'utf8').slice(-4000),
    kill,
    async separate(node, from) {
      if (from === 'everything') await ip('link', 'set', linkOf(node), 'down');
      else
        await nft(`table bridge ${bridge} {
  chain forward {
    type filter hook forward priority 0
    iifname "${linkOf(node)}" drop
    oifname "${linkOf(node)}" drop
  }
}
`);
    },
    async connect(node) {
      await ip('link', 'set', linkOf(node), 'up');
      await nft(`table bridge ${bridge}\ndelete table bridge ${bridge}\n`);
    },
    async fill(node) {
      const words = ['if=/dev/zero', `of=${join(diskOf(node), 'ballast')}`, 'bs=64k', 'status=none'];
      await run('dd', words).catch(({ stderr }: { readonly stderr: string }) => {
        if (!stderr.includes('No space left')) throw new Error(stderr);
      });
    },
    free: (node) => rmSync(join(diskOf(node), 'ballast')),
  };
}
