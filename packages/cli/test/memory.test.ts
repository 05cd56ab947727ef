/** The young generation stays small under load, unless V8 options set its size. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/**
 * Makes garbage of which some survives for a while, as requests do, before and after a collection that V8 makes of an idle process,
 * and prints the megabytes of the young generation after each of the three.
 */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { limitMemoryGrowth } from ${JSON.stringify(fileURLToPath(new URL('../src/memory-limits.ts', import.meta.url)))};
  limitMemoryGrowth(process.env, process.execArgv);
  async function load(rounds) {
    const kept = [];
    for (let round = 0; round < rounds; round += 1) {
      for (let i = 0; i < 20_000; i += 1) kept.push({ i, text: 'x' + i });
      if (kept.length > 300_000) kept.length = 0;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20;
  const sizes = [];
  await load(800);
  sizes.push(young());
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  sizes.push(young());
  await load(200);
  sizes.push(young());
  console.log(JSON.stringify(sizes));
`;

/** @returns megabytes under load, of the idle process, and under load again */
function youngSizes(...options: string[]): readonly number[] {
  const { stdout, stderr } = spawnSync(process.execPath, [
    '--expose-gc',
    ...options,
    '--input-type=module',
    '-e',
    PROGRAM,
  ]);
  expect(String(stderr)).toBe('');
  return JSON.parse(String(stdout));
}

/** V8 counts pages beyond what is asked for: one or two, and some more while its helpers wait for a processor. By itself it takes 32. */
const FULL = 28;

describe('the young generation', () => {
  it('grows to 16 MiB and no further, also after V8 has shrunk it while the process was idle', () => {
    const [loaded, idle, loadedAgain] = youngSizes();
    expect(loaded).toBeGreaterThan(8);
    expect(loaded).toBeLessThan(FULL);
    expect(idle).toBeLessThan(8);
    expect(loadedAgain).toBeGreaterThan(8);
    expect(loadedAgain).toBeLessThan(FULL);
  });

  it('V8 options for the young generation take precedence', () => {
    expect(youngSizes('--max-semi-space-size=32')[0]).toBeGreaterThan(FULL);
  });
});
