/** A Debian with nothing but Node and npm, made here by debootstrap, as a folder for chroot and as a base image. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/debian', import.meta.url));

/** Why these tests cannot run here, or undefined. */
export async function findMissingTools(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  for (const tool of ['debootstrap', 'buildah', 'podman', 'unshare'])
    if (!(await isInstalled(tool))) return `needs ${tool}: apt-get install debootstrap buildah podman runc`;
  return undefined;
}

const isInstalled = (tool: string) =>
  run('sh', ['-c', `command -v ${tool}`]).then(
    () => true,
    () => false,
  );

/** Made once; the folder is not changed by its users. */
export async function prepareDebian(): Promise<string> {
  if (existsSync(CACHE)) return CACHE;
  await mkdir(dirname(CACHE), { recursive: true });
  const draft = await mkdtemp(`${CACHE}-`);
  await run('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', draft], {
    timeout: 900_000,
    maxBuffer: 2 ** 26,
  });
  await installNode(draft);
  await copyNetwork(draft);
  for (const path of [
    'usr/share/doc',
    'usr/share/locale',
    'usr/share/man',
    'var/cache/apt',
    'var/lib/apt/lists',
  ])
    await rm(join(draft, path), { recursive: true, force: true });
  await rename(draft, CACHE);
  return CACHE;
}

/** This Node, and the npm of this machine, where the official image has them too. */
async function installNode(folder: string): Promise<void> {
  const local = join(folder, 'usr/local');
  await cp(process.execPath, join(local, 'bin/node'));
  // Where its command is: `npm root --global` names a folder beside the Node that runs it, which may be another one.
  const { stdout } = await run('sh', ['-c', 'realpath "$(command -v npm)"']);
  await mkdir(join(local, 'lib/node_modules'), { recursive: true });
  const npm = dirname(dirname(stdout.trim()));
  await cp(npm, join(local, 'lib/node_modules/npm'), { recursive: true });
  for (const name of ['npm', 'npx'])
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
}

/** How this machine reaches its package registry: names, and certificate authorities. */
async function copyNetwork(folder: string): Promise<void> {
  for (const file of ['resolv.conf', 'hosts'])
    await cp(`/etc/${file}`, join(folder, 'etc', file)).catch(() => {});
  const authorities = process.env['NODE_EXTRA_CA_CERTS'];
  if (authorities === undefined) return;
  await cp(authorities, join(folder, AUTHORITIES));
  await mkdir(join(folder, 'usr/local/etc'), { recursive: true });
  await writeFile(join(folder, 'usr/local/etc/npmrc'), `cafile=${AUTHORITIES}\n`);
}

const AUTHORITIES = '/etc/ssl/certs/of-the-host.pem';

/** A copy of the folder, with the files of this clone that Git would commit in /clone. */
export async function copyWithClone(debian: string, root: string, target: string): Promise<void> {
  await run('cp', ['--archive', debian, target]);
  const clone = join(target, 'clone');
  await mkdir(clone);
  await run(
    'sh',
    ['-c', `git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents -t "${clone}"`],
    {
      cwd: root,
    },
  );
}

/** The words that run a command in the folder, in an empty environment. */
export function inDebian(
  folder: string,
  command: string,
  variables: Readonly<Record<string, string>> = {},
): readonly string[] {
  const settings = Object.entries({ ...ENVIRONMENT, ...variables }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const mounts = `mount --rbind /dev "${folder}/dev" && mount -t proc proc "${folder}/proc"`;
  const program = `${mounts} && exec chroot "${folder}" env -i ${settings.join(' ')} sh -c '${command}'`;
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', program];
}

const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/root', NODE_EXTRA_CA_CERTS: AUTHORITIES };

/** A command of buildah or podman, with a storage of its own. @returns its standard output */
export async function containers(
  storage: string,
  program: string,
  ...args: readonly string[]
): Promise<string> {
  const environment = { ...process.env, BUILDAH_ISOLATION: 'chroot', STORAGE_DRIVER: 'overlay' };
  const places = ['--root', join(storage, 'images'), '--runroot', join(storage, 'running')];
  const runtime = program === 'podman' ? ['--runtime', 'runc', '--cgroup-manager', 'cgroupfs'] : [];
  const options = { env: environment, timeout: 600_000, maxBuffer: 2 ** 26 };
  return (await run(program, [...places, ...runtime, ...args], options)).stdout.trim();
}

/** Imports the folder as an image. */
export async function importDebian(storage: string, folder: string, name: string): Promise<void> {
  const buildah = (...args: readonly string[]) => containers(storage, 'buildah', ...args);
  const container = await buildah('from', '--pull-never', 'scratch');
  await buildah('add', '--quiet', container, folder, '/');
  const variables = Object.entries(ENVIRONMENT).filter(([key]) => key !== 'HOME');
  for (const [key, value] of variables) await buildah('config', '--env', `${key}=${value}`, container);
  await buildah('commit', '--quiet', '--rm', container, name);
}
