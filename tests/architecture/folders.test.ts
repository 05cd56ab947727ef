/** Folders of a package import in one direction, so that a slice can be understood from those below it. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findFolderCycles } from './folders.ts';

describe('the folders of each package', () => {
  const files = globSync('packages/*/src/**/*.ts').map((path) => ({
    path,
    text: readFileSync(path, 'utf8'),
  }));

  it('import one way', () => {
    expect(files.length).toBeGreaterThan(300);
    expect(findFolderCycles(files)).toEqual([]);
  });
});

describe('the check of folders', () => {
  const at = (path: string) => `packages/client/src/${path}`;
  const files = (texts: Readonly<Record<string, string>>) =>
    Object.entries(texts).map(([path, text]) => ({ path: at(path), text }));

  it('lets folders import those below them, files beside them, and what lies deeper within', () => {
    const good = files({
      'a/one.ts': `import '../b/two.ts'; import './deep/three.ts'; import '../root.ts'; import 'jose';`,
      'a/deep/three.ts': `import '../four.ts';`,
      'b/two.ts': `import '../root.ts';`,
      'index.ts': `import './a/four.ts';`,
    });
    expect(findFolderCycles(good)).toEqual([]);
  });

  it.each([
    ['by two files', { 'a/one.ts': `import '../b/two.ts';`, 'b/three.ts': `import '../a/four.ts';` }, 2],
    [
      'for a type',
      { 'a/one.ts': `import '../b/two.ts';`, 'b/x.ts': `import type { A } from '../a/y.ts';` },
      2,
    ],
    [
      'by a third',
      {
        'a/1.ts': `import '../b/1.ts';`,
        'b/2.ts': `import '../c/1.ts';`,
        'c/2.ts': `export * from '../a/2.ts';`,
      },
      3,
    ],
    ['through a root file', { 'a/1.ts': `import '../root.ts';`, 'root.ts': `import './a/2.ts';` }, 2],
    ['from deep within', { 'a/d/1.ts': `import '../../b/1.ts';`, 'b/2.ts': `import '../a/2.ts';` }, 2],
  ])('finds folders that import each other %s', (_how, texts, count) => {
    expect(findFolderCycles(files(texts))).toHaveLength(count);
  });
});
