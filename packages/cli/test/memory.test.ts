/** The young generation stays small under load, unless V8 options set its size. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** Makes garbage of which some survives for a while, as requests do, and prints the megabytes of the young generation. */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { limitMemoryGrowth } from ${JSON.stringify(fileURLToPath(new URL('../src/memory-limits.ts', import.meta.url)))};
  limitMemoryGrowth(process.env, process.execArgv);
  const kept = [];
  for (let round = 0; round < 800; round += 1) {
    for (let i = 0; i < 20_000; i += 1) kept.push({ i, text: 'x' + i });
    if (kept.length > 300_000) kept.length = 0;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20);
`;

function youngAfterLoad(...options: string[]): number {
  const { stdout, stderr } = spawnSync(process.execPath, [...options, '--input-type=module', '-e', PROGRAM]);
  expect(String(stderr)).toBe('');
  return Number(stdout);
}

describe('the young generation', () => {
  it('the young generation grows to 16 MiB and no further', () => {
    const size = youngAfterLoad();
    expect(size).toBeGreaterThan(1);
    // V8 counts pages beyond what is asked for: one or two, and some more while its helpers wait for a processor. By itself it takes 32.
    expect(size).toBeLessThan(28);
  });

  it('V8 options for the young generation take precedence', () => {
    expect(youngAfterLoad('--max-semi-space-size=32')).toBeGreaterThan(28);
  });
});
