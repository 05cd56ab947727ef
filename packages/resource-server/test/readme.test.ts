/** The README: its programs are compiled, and what it says of defaults and entries is so. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
let readme: string;

beforeAll(async () => {
  readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
});

/** Those that can run by themselves: all that import something. */
const programsOf = (text: string): string[] =>
  [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, program = '']) => program);

it('has programs that compile', { timeout: 60_000 }, async () => {
  // Within the packages that are installed, so that they are found; and nowhere that is kept.
  await mkdir(join(root, 'node_modules/.cache'), { recursive: true });
  const folder = await mkdtemp(join(root, 'node_modules/.cache/readme-'));
  try {
    const programs = programsOf(readme);
    expect(programs.length).toBeGreaterThan(10);
    const files = programs.map((program, index) => [`program-${index}.ts`, program] as const);
    for (const [name, program] of files) await writeFile(join(folder, name), program);
    const settings = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { isolatedDeclarations: false, declaration: false },
      include: [],
      exclude: [],
      files: files.map(([name]) => name),
    };
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
    const compiled = await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? String(error) }),
    );
    expect(compiled.stdout).toBe('');
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('begins with a server in ten lines', () => {
  const [program = ''] = programsOf(readme);
  expect(program.trim().split('\n').filter(Boolean).length).toBeLessThanOrEqual(10);
});

it('names every entry of the package', async () => {
  const { exports } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  for (const entry of Object.keys(exports).filter((name) => !['.', './package.json'].includes(name)))
    expect(readme).toContain(entry.slice(1));
});
