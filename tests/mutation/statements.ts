/**
 * `npm run mutation -- statements [file…]`: changes one word after the other in the SQL of the store, and tells which changes the
 * contract of stores does not notice on SQLite. Stryker knows TypeScript only, and takes a statement for one text.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';

/** What a word may become. */
const CHANGES: readonly (readonly [word: RegExp, instead: readonly string[]])[] = [
  [/(?<![<>=!])<=/g, ['<', '=']],
  [/(?<![<>=!])<(?![=>])/g, ['<=', '>']],
  [/(?<![<>=!])>=/g, ['>', '=']],
  [/(?<![<>=!-])>(?!=)/g, ['>=', '<']],
  [/(?<![<>=!])=/g, ['<>']],
  [/<>/g, ['=']],
  [/IS NOT NULL/g, ['IS NULL']],
  [/IS NULL/g, ['IS NOT NULL']],
  [/NOT EXISTS/g, ['EXISTS']],
  [/(?<!NOT )EXISTS/g, ['NOT EXISTS']],
  [/\bAND\b/g, ['OR']],
  [/\bOR\b/g, ['AND']],
  [/\bDESC\b/g, ['ASC']],
  [/LIMIT \0+/g, ['LIMIT 1000000']],
];

/** Statements of PostgreSQL alone, which nothing of SQLite asks for: the functions that write them. */
const POSTGRES_ALONE = /function \w+AtOnce\([\s\S]*?\n\}\n/g;

interface Mutant {
  readonly from: number;
  readonly to: number;
  readonly instead: string;
}

/** Every mutant of a source. */
function findMutants(source: string): readonly Mutant[] {
  const written = source.replace(POSTGRES_ALONE, blank);
  const statements = [...written.matchAll(/sql`([^`]*)`|defineQuery\(\s*[`']([^`']*)[`']/g)];
  return statements.flatMap((found) => {
    const text = found[1] ?? found[2] ?? '';
    const at = found.index + found[0].indexOf(text);
    // What stands in `${…}` is no SQL.
    return mutate(text.replace(/\$\{[^}]*\}/g, blank)).map(({ from, to, instead }) => ({
      from: at + from,
      to: at + to,
      instead,
    }));
  });
}

function mutate(sql: string): readonly Mutant[] {
  return CHANGES.flatMap(([word, replacements]) =>
    [...sql.matchAll(word)]
      .filter(({ 0: found, index }) => found !== '=' || isCondition(sql.slice(0, index)))
      .flatMap(({ 0: found, index: from }) =>
        replacements.map((instead) => ({ from, to: from + found.length, instead })),
      ),
  );
}

/** Whether an equals sign compares: behind `SET` it gives a value. */
function isCondition(before: string): boolean {
  const last = [...before.matchAll(/\b(?:SET|WHERE|AND|OR|ON|WHEN)\b/g)].at(-1);
  return last?.[0] !== 'SET';
}

function blank(text: string): string {
  return '\0'.repeat(text.length);
}

/** Whether the contract holds on SQLite. */
function holds(): boolean {
  const run = [
    'vitest',
    'run',
    'packages/store/test/contract.test.ts',
    '-t',
    'SQLite in memory',
    '--bail',
    '1',
  ];
  return spawnSync('npx', run, { stdio: 'ignore', timeout: 60_000 }).status === 0;
}

/** @param named files of the store; all when there are none */
export function mutateStatements(named: readonly string[]): number {
  if (!holds()) throw new Error('The contract does not hold before anything was changed.');
  const files = named.length > 0 ? named : globSync('packages/store/src/*.ts').toSorted();
  let [tried, unnoticed] = [0, 0];
  for (const file of files) {
    const source = readFileSync(file, 'utf8');
    for (const { from, to, instead } of findMutants(source)) {
      tried += 1;
      writeFileSync(file, `${source.slice(0, from)}${instead}${source.slice(to)}`);
      const isUnnoticed = holds();
      writeFileSync(file, source);
      if (!isUnnoticed) continue;
      unnoticed += 1;
      const around = `${source.slice(Math.max(0, from - 60), from)}«${source.slice(from, to)} → ${instead}»${source.slice(to, to + 40)}`;
      console.log(`${file}:${source.slice(0, from).split('\n').length} ${around.replace(/\s+/g, ' ')}`);
    }
  }
  console.log(`${tried} mutants, of which ${unnoticed} went unnoticed`);
  return unnoticed === 0 ? 0 : 1;
}
