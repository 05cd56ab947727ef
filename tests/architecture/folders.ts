/** The rule for folders within a package: each imports in one direction, as a pure function over source files. */
import { posix } from 'node:path';
import { readImports } from './imports.ts';
import type { SourceFile } from './layers.ts';

/** One import from a unit of a package into another of it. */
interface Link {
  /** `packages/client/src/store`: of a package the folders right below its sources; what they hold in turn is theirs. */
  readonly from: string;
  readonly to: string;
  readonly file: string;
}

/**
 * Returns one line for each pair of units in an import cycle. A unit is a folder right below the
 * sources, or a file there.
 */
export function findFolderCycles(files: readonly SourceFile[]): readonly string[] {
  const links = files.flatMap(readLinks);
  const reaches = createReaches(links);
  const cyclic = links.filter(({ from, to }) => reaches(to, from));
  return [
    ...new Set(cyclic.map(({ from, to, file }) => `${from} and ${nameOf(to)} import each other: ${file}`)),
  ];
}

function nameOf(folder: string): string {
  return folder.split('/')[3] ?? '';
}

function readLinks({ path, text }: SourceFile): readonly Link[] {
  const from = unitOf(path);
  return readImports(path, text).flatMap(({ specifier = '' }) => {
    const to = specifier.startsWith('.') ? unitOf(posix.join(posix.dirname(path), specifier)) : null;
    return to === null || to === from ? [] : [{ from, to, file: path }];
  });
}

/** `packages/client/src/store` of whatever lies there; of a file right below the sources, its path. */
function unitOf(path: string): string {
  return path.split('/').slice(0, 4).join('/');
}

/** Whether one folder imports another one, directly or through others. */
function createReaches(links: readonly Link[]): (from: string, to: string) => boolean {
  return (from, to) => {
    const seen = new Set([from]);
    for (const folder of seen) for (const link of links) if (link.from === folder) seen.add(link.to);
    return seen.has(to);
  };
}
