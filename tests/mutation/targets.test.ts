/** Every mutation target names sources and tests that exist, and its tests can start. */
import { existsSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { withResults } from './page.ts';
import { mutationTargets } from './targets.ts';
import config from './vitest.config.ts';

describe('mutation targets', () => {
  it.each(Object.entries(mutationTargets))('mutation target %s names existing files', (_name, target) => {
    const missing = [...target.mutate, ...target.tests].filter((path) => !existsSync(`packages/${path}`));
    expect(missing).toEqual([]);
  });

  it('a worker thread, in which mutants run, accepts the flags of Node, and refuses those of V8', async () => {
    const start = (execArgv: readonly string[]) => new Worker('', { eval: true, execArgv: [...execArgv] });
    const { execArgv = [] } = config.test ?? {};
    expect(execArgv).toContain('--conditions=portcullis-source');
    await start(execArgv).terminate();
    expect(() => start(['--max-semi-space-size=64'])).toThrow('invalid execArgv flags');
  });
});

describe('docs/mutation.md', () => {
  const row = (target: string, detected: number) => ({
    target,
    source: '`a.ts`',
    mutants: 10,
    detected,
    date: '2026-11-23',
  });

  it('keeps its text and the rows of targets that did not run', () => {
    const page = withResults('# Title\n\n| target |\n|---|\n\nText.\n', [row('one', 9), row('two', 10)]);
    expect(withResults(page, [row('one', 5)])).toBe(`# Title

| target | source | mutants | detected | share | date |
|---|---|---|---|---|---|
| one | \`a.ts\` | 10 | 5 | 50.0 % | 2026-11-23 |
| two | \`a.ts\` | 10 | 10 | 100.0 % | 2026-11-23 |

Text.
`);
  });

  it('has a row for every target', () => {
    const page = readFileSync('docs/mutation.md', 'utf8');
    const missing = [...Object.keys(mutationTargets), 'statements'].filter(
      (target) => !page.includes(`\n| ${target} | `),
    );
    expect(missing).toEqual([]);
  });
});
