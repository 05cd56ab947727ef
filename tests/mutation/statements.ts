/**
 * `npm run mutation -- statements [file…]`: mutates one keyword or operator at a time in the SQL of the store, and prints the mutants
 * that the store contract does not detect on SQLite. Stryker only knows TypeScript: to it, a statement is one string.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { publishResults } from './page.ts';

/** Replacements for each keyword or operator. */
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

/** Statements for PostgreSQL only, which SQLite never runs, and functions that build them. */
const POSTGRES_ONLY =
  /function \w+(?:AtOnce|InOneStatement)\([\s\S]*?\n\}\n|const \w+(?:AtOnce|InOneStatement) = define[\s\S]*?\);\n/g;

interface Mutant {
  readonly from: number;
  readonly to: number;
  readonly instead: string;
}

/** Every mutant of a source. */
function findMutants(source: string): readonly Mutant[] {
  const written = source.replace(POSTGRES_ONLY, blank);
  const statements = [...written.matchAll(/sql`([^`]*)`|define(?:Query|Template)\(\s*[`']([^`']*)[`']/g)];
  return statements.flatMap((found) => {
    const text = found[1] ?? found[2] ?? '';
    const at = found.index + found[0].indexOf(text);
    // `${…}` is not SQL.
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

/** Whether an equals sign compares; after `SET` it assigns. */
function isCondition(before: string): boolean {
  const last = [...before.matchAll(/\b(?:SET|WHERE|AND|OR|ON|WHEN)\b/g)].at(-1);
  return last?.[0] !== 'SET';
}

function blank(text: string): string {
  return '\0'.repeat(text.length);
}

/** Whether the store contract passes on SQLite. */
function holds(): boolean {
  const run = ['vitest', 'run', 'packages/store/test/contract.test.ts', '-t', 'SQLite', '--bail', '1'];
  return spawnSync('npx', run, { stdio: 'ignore', timeout: 60_000 }).status === 0;
}

/** @param named files of the store; none for all */
export function mutateStatements(named: readonly string[]): number {
  if (!holds()) throw new Error('The store contract fails before any mutation.');
  const files = named.length > 0 ? named : globSync('packages/store/src/**/*.ts').toSorted();
  let [tried, survived] = [0, 0];
  for (const file of files) {
    const source = readFileSync(file, 'utf8');
    for (const { from, to, instead } of findMutants(source)) {
      tried += 1;
      writeFileSync(file, `${source.slice(0, from)}${instead}${source.slice(to)}`);
      const hasSurvived = holds();
      writeFileSync(file, source);
      if (!hasSurvived) continue;
      survived += 1;
      const around = `${source.slice(Math.max(0, from - 60), from)}«${source.slice(from, to)} → ${instead}»${source.slice(to, to + 40)}`;
      console.log(`${file}:${source.slice(0, from).split('\n').length} ${around.replace(/\s+/g, ' ')}`);
    }
  }
  console.log(`${tried} mutants, of which ${survived} survived`);
  const date = new Date().toISOString().slice(0, 10);
  if (named.length === 0)
    publishResults([
      {
        target: 'statements',
        source: 'the SQL of the store',
        mutants: tried,
        detected: tried - survived,
        date,
      },
    ]);
  return survived === 0 ? 0 : 1;
}
