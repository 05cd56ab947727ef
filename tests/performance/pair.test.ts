/** No flow costs more than 1.25 times what it cost at the commit of the previous changeset. */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** The newest commit before this one that added a changeset; empty without a history. */
function previousChangeset(): string {
  const words = ['log', '-1', '--diff-filter=A', '--format=%H', 'HEAD~1', '--', '.changeset/*.md'];
  return spawnSync('git', words, { encoding: 'utf8' }).stdout.trim();
}

const commit = previousChangeset();

it.runIf(commit !== '')(
  'each flow costs at most 1.25 times what it cost at the previous changeset',
  () => {
    const words = ['--conditions=portcullis-source', 'bench/run.ts', 'pair', commit, '--quick'];
    const { status, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8', maxBuffer: 2 ** 24 });
    for (const flow of ['refresh', 'client credentials', 'authorization code', 'gateway call', 'start'])
      expect(stdout).toContain(`| ${flow} |`);
    expect(status, stdout).toBe(0);
  },
  1_800_000,
);
