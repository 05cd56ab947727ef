/** The list of requirements and the tests of this workspace, as they lie on disk. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Citation, readCases, readCitations } from './citations.ts';
import type { Requirement } from './coverage.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The store contract is a suite that every store's tests run, the guard's that every adapter's run: what they name counts too. */
const testFiles = [
  'packages/*/test/**/*.test.ts',
  'packages/store/testing/*.ts',
  'packages/resource-server/test/suite/*.ts',
  'examples/*/test/**/*.test.ts',
  'tests/**/*.test.ts',
];

export function readRequirements(): readonly Requirement[] {
  return ['requirements', 'scim', 'ssf'].flatMap((name): readonly Requirement[] =>
    JSON.parse(readFileSync(join(root, `docs/requirements/${name}.json`), 'utf8')),
  );
}

export function readAllCitations(): readonly Citation[] {
  return readAll(readCitations);
}

export function readAllCases(): readonly Citation[] {
  return readAll(readCases);
}

function readAll(read: typeof readCitations): readonly Citation[] {
  // The gate's own tests name what is made up.
  const files = globSync(testFiles, { cwd: root }).filter((file) => !file.endsWith('/requirements.test.ts'));
  return files.toSorted().flatMap((file) => read(file, readFileSync(join(root, file), 'utf8')));
}
