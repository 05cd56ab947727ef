/** The names that a package exports from its entry points: where they are declared, documented, and named by others. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Comment, type Program, parseSync } from 'oxc-parser';

/** Sources and what users read; tests and benches do not count as users of a name. */
const READERS = [
  'packages/*/src/**/*.ts',
  'examples/*/*.{ts,md}',
  'examples/*/src/**/*.ts',
  'README.md',
  'packages/*/README.md',
  'docs/*.md',
  'docs/{guides,hosts}/**/*.md',
  'site/*.ts',
];

export interface PublicName {
  readonly name: string;
  /** The file that declares it; a package name for a name of another package. */
  readonly file: string;
  readonly isDocumented: boolean;
}

/** Entry points of a package, as paths of sources: `exports` of its package.json, without package.json itself. */
export function entryPoints(folder: string): readonly string[] {
  const { exports = {} }: { exports?: Record<string, unknown> } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  return Object.values(exports).flatMap((target) => {
    const source = Object(target)['portcullis-source'];
    return typeof source === 'string' ? [join(folder, source)] : [];
  });
}

/** Reads what a module exports by name, following re-exports within the package. */
export function publicNames(file: string): readonly PublicName[] {
  const text = readFileSync(file, 'utf8');
  const { program, comments } = parseSync(file, text);
  return program.body.flatMap((statement) => {
    if (statement.type === 'ExportAllDeclaration') return namesOf(file, statement.source.value);
    if (statement.type !== 'ExportNamedDeclaration') return [];
    const { source, specifiers, declaration } = statement;
    if (source !== null) {
      const reexported = specifiers.map(({ local }) => nameOf(local));
      return namesOf(file, source.value, reexported);
    }
    if (declaration === null)
      return specifiers.flatMap(({ local }) => imported(program, file, nameOf(local)));
    const isDocumented = hasDocstring(text, comments, statement.start);
    return declaredNames(declaration).map((name) => ({ name, file, isDocumented }));
  });
}

/** The folders of packages whose texts name a word; a document of the repository itself is `.`. */
export function readersOfNames(): ReadonlyMap<string, ReadonlySet<string>> {
  const readers = new Map<string, Set<string>>();
  for (const path of globSync(READERS)) {
    const folder = /^packages\/[^/]+(?=\/src\/)/.exec(path)?.[0] ?? '.';
    for (const word of new Set(readFileSync(path, 'utf8').match(/[\w$]+/g)))
      readers.set(word, (readers.get(word) ?? new Set()).add(folder));
  }
  return readers;
}

/** Doc comments that do not stand directly above what they describe, by line: above another one, or apart. */
export function displacedDocComments(text: string): readonly number[] {
  return [...text.matchAll(/\/\*\*(?:(?!\*\/)[\s\S])*\*\//g)].flatMap((match) => {
    const after = text.slice(match.index + match[0].length);
    const isDisplaced = match.index > 0 && /^(?:[ \t]*\n\s*(?:\/\*\*|\})|\s*$)/.test(after);
    return isDisplaced ? [text.slice(0, match.index).split('\n').length] : [];
  });
}

/** @param names `undefined`: all */
function namesOf(file: string, source: string, names?: readonly string[]): readonly PublicName[] {
  if (!source.startsWith('.'))
    return (names ?? []).map((name) => ({ name, file: source, isDocumented: true }));
  const found = publicNames(join(dirname(file), source));
  return names === undefined ? found : found.filter(({ name }) => names.includes(name));
}

function imported(program: Program, file: string, name: string): readonly PublicName[] {
  for (const statement of program.body) {
    if (statement.type !== 'ImportDeclaration') continue;
    if (statement.specifiers.some(({ local }) => local.name === name))
      return namesOf(file, statement.source.value, [name]);
  }
  return [{ name, file, isDocumented: false }];
}

function declaredNames(declaration: object): readonly string[] {
  const { id, declarations } = declaration as {
    readonly id?: { readonly name: string };
    readonly declarations?: readonly { readonly id: { readonly name?: string } }[];
  };
  return id === undefined ? (declarations ?? []).flatMap((one) => one.id.name ?? []) : [id.name];
}

/** The comment at the start of a file belongs to the file, unless the declaration follows in the next line. */
function hasDocstring(text: string, comments: readonly Comment[], start: number): boolean {
  const comment = comments.findLast(({ end }) => end <= start);
  if (comment?.type !== 'Block' || !comment.value.startsWith('*')) return false;
  const between = text.slice(comment.end, start);
  return between.trim() === '' && !(comment.start === 0 && /\n\s*\n/.test(between));
}

function nameOf(node: { readonly type: string; readonly name?: string; readonly value?: unknown }): string {
  return node.name ?? String(node.value);
}
