/** The repository uses the field's words: docs/glossary.md, held against sources, tests and documents. */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorNames, exportedNames, findNames, findWords, readGlossary, wordsOf } from './vocabulary.ts';

const glossary = readGlossary(readFileSync('docs/glossary.md', 'utf8'));
const replaced = new Set(glossary.flatMap((term) => term.replaced));
const replacedInNames = new Set(glossary.flatMap((term) => term.replacedInNames));

const SOURCES = ['packages/*/src/**/*.ts', 'packages/*/testing/**/*.ts'];
const EVERYTHING = [
  ...SOURCES,
  'packages/*/test/**/*.ts',
  'packages/*/README.md',
  'tests/**/*.ts',
  'examples/**/*.{ts,md,json}',
  'bench/**/*.{ts,md}',
  'scripts/**/*.ts',
  'docs/**/*.md',
  '*.md',
];
const exclude = (path: string) =>
  path.includes('node_modules') ||
  path.startsWith('tests/architecture/vocabulary') ||
  path === 'docs/glossary.md';
/** Wire values, and names of the operating system, of the official SDK and of its conformance suite, that are spelled like a replaced word. */
const LITERALS =
  /'nobody'|`nobody`|operator \| host \| nobody|mcpReq\.envelope|wire_api|tasks-wire-fields|tasks-dispatch-and-envelope/g;

const read = (places: readonly string[]) =>
  places
    .flatMap((place) => globSync(place, { exclude: (path) => path.includes('node_modules') }))
    .filter((path) => !exclude(path))
    .map((path) => ({ path, text: readFileSync(path, 'utf8').replaceAll(LITERALS, '') }));

/** Names that are the same in each adapter on purpose, so that one page of documentation serves all of them. */
const SAME_IN_EACH_ADAPTER = 'packages/resource-server/src/adapters/';

describe('the vocabulary', () => {
  const files = read(EVERYTHING);
  const sources = read(SOURCES);

  it('replaces no word of the field in sources, tests and documents', () => {
    expect(replaced.size).toBeGreaterThan(40);
    expect(files.length).toBeGreaterThan(500);
    const found = files.flatMap(({ path, text }) => {
      return [
        ...findWords(basename(path), replaced).map(({ word }) => `${path}: ${word} in its name`),
        ...findWords(text, replaced).map(({ line, word }) => `${path}:${line}: ${word}`),
      ];
    });
    expect(found).toEqual([]);
  });

  it('names nothing in the packages by an ordinary word that the glossary replaces', () => {
    expect(replacedInNames.size).toBeGreaterThan(10);
    const found = sources.flatMap(({ path, text }) => [
      ...findWords(basename(path), replacedInNames).map(({ word }) => `${path}: ${word} in its name`),
      ...findNames(path, text, replacedInNames).map(({ line, name }) => `${path}:${line}: ${name}`),
    ]);
    expect(found).toEqual([]);
  });

  it('names in the glossary only types that exist', () => {
    const names = new Set(sources.flatMap(({ text }) => exportedNames(text)));
    expect(glossary.flatMap((term) => term.types).filter((type) => !names.has(type))).toEqual([]);
  });

  it('gives each error the name of its class', () => {
    const named = sources.flatMap(({ path, text }) => errorNames(text).map((error) => ({ path, ...error })));
    expect(named.length).toBeGreaterThan(25);
    expect(named.filter(({ className, name }) => name !== className)).toEqual([]);
  });

  it('exports no name with two meanings', () => {
    const places = new Map<string, string[]>();
    for (const { path, text } of sources) {
      if (path.startsWith(SAME_IN_EACH_ADAPTER)) continue;
      for (const name of exportedNames(text)) places.set(name, [...(places.get(name) ?? []), path]);
    }
    expect([...places].filter(([, paths]) => paths.length > 1)).toEqual([]);
  });
});

describe('the check of the vocabulary', () => {
  it.each([
    ['const createRoomsIn = 1;', 'rooms'],
    ['/** Whoever asks. */', 'whoever'],
    ["it('mends it', …); // mend", 'mend'],
    ['file-of-bonds', 'bonds'],
    ['FARE_FAULT', 'fault'],
  ])('finds the replaced word in %s', (line, word) => {
    expect(findWords(line, replaced).map((found) => found.word)).toContain(word);
  });

  it.each(['defaultOutstanding understanding lawful bedroom', 'authorization', 'sealion'])(
    'finds nothing in %s',
    (line) => {
      expect(findWords(line, replaced)).toEqual([]);
    },
  );

  it.each([
    ['const takePlaceFor = 1;', 'takePlaceFor'],
    ['interface A { readonly keptFor: number }', 'keptFor'],
    ['class B { #heldBytes = 0; }', 'heldBytes'],
    ['import { roundsOf } from "x";', 'roundsOf'],
  ])('finds the replaced name in %s', (source, name) => {
    expect(findNames('a.ts', source, replacedInNames)).toEqual([{ line: 1, name }]);
  });

  it.each(['// kept in place', 'const text = `held`;', 'Math.round(1);'])('finds no name in %s', (source) => {
    expect(findNames('a.ts', source, replacedInNames)).toEqual([]);
  });

  it('divides names into words', () => {
    expect(wordsOf('readHTTPBody two_words KEY_OF')).toEqual([
      'read',
      'http',
      'body',
      'two',
      'words',
      'key',
      'of',
    ]);
  });

  it('reads the names of errors', () => {
    const source =
      "class A extends Error {\n  readonly code = 1;\n  override readonly name: string = 'B';\n}\n";
    expect(errorNames(`${source}class C extends Error {}\n${source}`)).toEqual([
      { className: 'A', name: 'B' },
      { className: 'A', name: 'B' },
    ]);
  });

  it('reads what a source exports', () => {
    expect(
      exportedNames('export interface A {}\nexport async function b() {}\nconst c = 1;\nexport { c };'),
    ).toEqual(['A', 'b']);
  });
});
