/** Checks that each row of the threat model names existing test files and titles. */
import { basename } from 'node:path';

/** A file of tests. */
export interface TestFile {
  readonly path: string;
  readonly text: string;
}

interface Claim {
  /** One or more of these. */
  readonly files: readonly string[];
  /** Words of titles, identifiers of requirements, numbers of cases. */
  readonly titles: readonly string[];
}

/** What is wrong with the rows of a page: a file that is not there, a title that stands in none of its files, a row without a test. */
export function findUnshown(page: string, tests: readonly TestFile[]): readonly string[] {
  return rowsOf(page).flatMap(([threat = '', , cell = '']) => {
    const claims = claimsOf(cell);
    if (claims.length === 0) return [`${threat}: names no test`];
    return claims.flatMap((claim) => checkClaim(claim, tests)).map((what) => `${threat}: ${what}`);
  });
}

/** First cells of the heads of tables. */
const HEADS: readonly string[] = ['threat', 'promise'];

/** The rows of tables of three columns, without their heads. */
function rowsOf(page: string): readonly (readonly string[])[] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
    .filter(([first = '']) => !HEADS.includes(first) && !/^-+$/.test(first));
}

/** `file`: title, title; `file` and `file`: title. A command is a claim without files. */
function claimsOf(cell: string): readonly Claim[] {
  const parts = cell.split('`');
  const claims: Claim[] = [];
  let files: readonly string[] = [];
  for (let index = 1; index < parts.length; index += 2) {
    const [name = '', after = ''] = [parts[index], parts[index + 1]?.trim()];
    if (!name.startsWith('npm run')) files = [...files, name];
    if (after === 'and') continue;
    claims.push({ files, titles: after.startsWith(':') ? titlesOf(after.slice(1)) : [] });
    files = [];
  }
  return claims;
}

/** `T001 to T005` are all five. */
function titlesOf(text: string): readonly string[] {
  return text
    .split(/[,;]/)
    .map((title) => title.trim())
    .filter((title) => title !== '')
    .flatMap((title) => {
      const [, from, to] = /^T(\d{3}) to T(\d{3})$/.exec(title) ?? [];
      if (from === undefined || to === undefined) return [title];
      return Array.from(
        { length: Number(to) - Number(from) + 1 },
        (_, index) => `T${String(Number(from) + index).padStart(3, '0')}`,
      );
    });
}

function checkClaim({ files, titles }: Claim, tests: readonly TestFile[]): readonly string[] {
  const named = files.map((name) => ({ name, found: tests.filter(({ path }) => isNamed(path, name)) }));
  const missing = named.filter(({ found }) => found.length === 0).map(({ name }) => `${name} is not there`);
  const texts = named.flatMap(({ found }) => found).map(({ text }) => text.toLowerCase());
  const unshown = titles.filter((title) => !texts.some((text) => text.includes(title.toLowerCase())));
  return [...missing, ...unshown.map((title) => `no ${title} in ${files.join(', ')}`)];
}

/** By the whole name of a file, with as many folders before it as the row says. */
function isNamed(path: string, name: string): boolean {
  return name.includes('/') ? path === name || path.endsWith(`/${name}`) : basename(path) === name;
}
