/** The flags of Node for a process that runs the sources. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(root, 'node_modules/.cache');

const SCRIPT = 'tests/support/bundle-sources.ts';
/** What the bundle is made from. */
const INPUTS = ['packages/*/{src,testing}/**', 'packages/*/package.json', 'package-lock.json', SCRIPT];
/** Milliseconds after which the bundle of other sources is removed: another run may still use it. */
const RETENTION = 86_400_000;

/** Files share a process, and not this module. */
const HOOK = Symbol.for('portcullis.test.bundle');
const globals = globalThis as { [HOOK]?: string };

/**
 * A start loads up to 800 modules, which costs more than half of its processor time. With these flags the sources are loaded as one
 * bundle, which is built when they have changed; tests of the loading itself use `SOURCE_CONDITION` alone.
 *
 * The young generation has its full size from the start, which costs a fifth less processor time. The command then leaves the options
 * of V8 as they are, so that no process rejects what another has compiled; tests of its memory use `bundleFlags()`.
 */
export function sourceFlags(): readonly string[] {
  return ['--min-semi-space-size=16', ...bundleFlags()];
}

/** Without options of V8. */
export function bundleFlags(): readonly string[] {
  globals[HOOK] ??= join(findBundle(), 'hook.mjs');
  return [SOURCE_CONDITION, `--import=${globals[HOOK]}`];
}

/** Resolves packages to their sources. */
export const SOURCE_CONDITION = '--conditions=portcullis-source';

function findBundle(): string {
  const folder = join(cache, `bundle-${fingerprint()}`);
  if (!existsSync(folder)) build(folder);
  return folder;
}

function fingerprint(): string {
  const hash = createHash('sha256').update(root);
  for (const file of globSync(INPUTS, { cwd: root }).sort()) {
    const { mtimeMs, size } = statSync(join(root, file));
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

/** Renamed into place, so a parallel run does no harm. */
function build(folder: string): void {
  mkdirSync(cache, { recursive: true });
  removeOutdated();
  const draft = mkdtempSync(join(cache, 'draft-'));
  const { status } = spawnSync(process.execPath, [SCRIPT, draft], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('the sources cannot be bundled');
  try {
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}

function removeOutdated(): void {
  for (const name of globSync('bundle-*', { cwd: cache })) {
    const folder = join(cache, name);
    if (statSync(folder).mtimeMs < Date.now() - RETENTION) rmSync(folder, { recursive: true, force: true });
  }
}
