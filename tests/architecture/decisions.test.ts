/** Every decision record has a status, and the index shows it. */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';

interface DecisionRecord {
  /** `0001-decision-records.md` */
  readonly file: string;
  readonly text: string;
}

/** The status as the index shows it; `null` if the record has none in the third line, or names a record that is not there. */
function readStatus({ text }: DecisionRecord, files: readonly string[]): string | null {
  const [, , line = ''] = text.split('\n');
  if (line === '**Status.** Accepted.') return 'accepted';
  const [, number, file] =
    /^\*\*Status\.\*\* Superseded by \[(\d{4})\]\((\1-[\w-]+\.md)\)\.$/.exec(line) ?? [];
  return file !== undefined && files.includes(file) ? `superseded by ${number}` : null;
}

/** @returns a sentence for each record without a status, or whose row in the index is missing, repeated or shows another */
function findIssues(records: readonly DecisionRecord[], index: string): readonly string[] {
  const files = records.map(({ file }) => file);
  const rows = index.split('\n').filter((line) => line.startsWith('* ['));
  return records.flatMap((record) => {
    const number = record.file.slice(0, 4);
    const status = readStatus(record, files);
    if (status === null) return [`${record.file} has no status`];
    const own = rows.filter((row) => row.startsWith(`* [${number}](${record.file}) `));
    if (own.length !== 1) return [`${record.file} has ${own.length} rows in the index`];
    return own[0]?.endsWith(` · ${status}`) ? [] : [`the index does not show that ${number} is ${status}`];
  });
}

describe('docs/decisions', () => {
  it('has a status in every record, which the index shows', () => {
    const records = globSync('docs/decisions/[0-9]*.md').map((path) => ({
      file: basename(path),
      text: readFileSync(path, 'utf8'),
    }));
    expect(records.length).toBeGreaterThan(50);
    expect(findIssues(records, readFileSync('docs/decisions/README.md', 'utf8'))).toEqual([]);
  });
});

describe('the check of their status', () => {
  const record = (file: string, status: string) => ({ file, text: `# Title\n\n${status}\n\n**Context.**` });
  const later = record('0002-b.md', '**Status.** Accepted.');
  const rows = (status: string) => `* [0001](0001-a.md) A · ${status}\n* [0002](0002-b.md) B · accepted`;

  it.each([
    ['**Status.** Accepted.', 'accepted'],
    ['**Status.** Superseded by [0002](0002-b.md).', 'superseded by 0002'],
  ])('takes %s', (line, status) => {
    expect(findIssues([record('0001-a.md', line), later], rows(status))).toEqual([]);
  });

  it.each([
    ['', '0001-a.md has no status'],
    ['**Status.** Proposed.', '0001-a.md has no status'],
    ['**Status.** Superseded by [0003](0003-c.md).', '0001-a.md has no status'],
    ['**Status.** Superseded by [0001](0002-b.md).', '0001-a.md has no status'],
    [
      '**Status.** Superseded by [0002](0002-b.md).',
      'the index does not show that 0001 is superseded by 0002',
    ],
  ])('finds what is wrong with %j', (line, issue) => {
    expect(findIssues([record('0001-a.md', line), later], rows('accepted'))).toEqual([issue]);
  });

  it('finds records that the index lacks', () => {
    const issue = '0002-b.md has 0 rows in the index';
    expect(findIssues([later], '* [0001](0001-a.md) A · accepted')).toEqual([issue]);
  });
});
