/** The examples in docstrings run as they are written, and print what their comments say. */
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { bundleFlags } from '../support/source-flags.ts';

const EXAMPLE = /^ \* @example\n \* ```ts\n((?: \*.*\n)*?) \* ```$/gm;

const examples = globSync('packages/*/src/**/*.ts').flatMap((path) =>
  [...readFileSync(path, 'utf8').matchAll(EXAMPLE)].map(([, lines = '']) => ({
    path,
    code: lines.replaceAll(/^ \* ?/gm, ''),
  })),
);

/** The comments at the end of lines that print, and those below a loop that prints. */
function expectedOutput(code: string): readonly string[] {
  const lines = code.split('\n');
  return lines.flatMap((line, index) => {
    if (!line.includes('console.log(')) return [];
    const [, comment] = /; \/\/ (.*)$/.exec(line) ?? [];
    if (comment !== undefined) return [comment];
    const below = lines.slice(index + 1);
    const end = below.findIndex((one) => !one.startsWith('// '));
    return below.slice(0, end === -1 ? undefined : end).map((one) => one.slice('// '.length));
  });
}

describe('the examples in docstrings', () => {
  it('exist for the main entry points', () => {
    expect(new Set(examples.map(({ path }) => path.split('/')[1]))).toEqual(
      new Set(['authorization-server', 'client', 'gateway', 'http', 'protocol', 'resource-server', 'store']),
    );
  });

  it.each(examples)('run: $path', async ({ code }) => {
    const flags = [...bundleFlags(), '--no-warnings', '--input-type=module-typescript'];
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--eval', code]);
    expect(expectedOutput(code)).not.toEqual([]);
    expect(stdout.trimEnd().split('\n')).toEqual(expectedOutput(code));
  });
});
