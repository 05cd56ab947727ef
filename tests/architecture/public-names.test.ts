/** Every name that a package exports has a docstring, and doc comments stand above what they describe. */
import { globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { displacedDocComments, entryPoints, publicNames, readersOfNames } from './public-names.ts';

describe('public names', () => {
  const packages = globSync('packages/*');

  it('have a docstring', () => {
    const names = packages.flatMap(entryPoints).flatMap(publicNames);
    expect(names.length).toBeGreaterThan(500);
    const undocumented = names
      .filter(({ isDocumented }) => !isDocumented)
      .map(({ name, file }) => `${file}: ${name}`);
    expect([...new Set(undocumented)].sort()).toEqual([]);
  });

  // Types that users may name: those of options, of results, and of what they can implement. The number may only shrink.
  it('are named by other packages, examples or documents, with few exceptions', () => {
    const readers = readersOfNames();
    const unnamed = packages.flatMap((folder) =>
      entryPoints(folder)
        .flatMap(publicNames)
        .filter(({ name }) => ![...(readers.get(name) ?? [])].some((reader) => reader !== folder))
        .map(({ name, file }) => `${file}: ${name}`),
    );
    expect(unnamed.length, unnamed.join('\n')).toBeLessThanOrEqual(50);
  });

  it('have doc comments that stand above what they describe', () => {
    const displaced = globSync('packages/*/src/**/*.ts').flatMap((path) =>
      displacedDocComments(readFileSync(path, 'utf8')).map((line) => `${path}:${line}`),
    );
    expect(displaced).toEqual([]);
  });
});

describe('the check of public names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-names-'));
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  it('follows re-exports to declarations with and without docstring', () => {
    write(
      'a.ts',
      '/** File. */\n\nexport const a = 1;\n/** B. */\nexport function b() {}\nexport type C = 1;\n',
    );
    const index = write(
      'index.ts',
      "export { a } from './a.ts';\nexport * from './a.ts';\nimport { b } from './a.ts';\nexport { b };\n",
    );
    expect(publicNames(index).map(({ name, isDocumented }) => [name, isDocumented])).toEqual([
      ['a', false],
      ['a', false],
      ['b', true],
      ['C', false],
      ['b', true],
    ]);
  });

  it.each([
    ['above another doc comment', '\n/** A. */\n/** B. */\nconst b = 1;\n', [2]],
    ['at the end of a block', 'interface A {\n  a: 1;\n  /** Gone. */\n}\n', [3]],
    ['above what it describes', '/** File. */\n\n/** A. */\nconst a = 1;\n', []],
  ])('notices a doc comment %s', (_description, text, expected) => {
    expect(displacedDocComments(text)).toEqual(expected);
  });
});
