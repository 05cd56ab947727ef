/** The list of attacks and the tests that name them: none without a test. */
import { expect, it } from 'vitest';
import { readAllCases } from '../requirements/workspace.ts';
import { cases } from './cases.ts';

const named = readAllCases();

it.each(Object.entries(cases))('%s is tried by a test: %s', (number) => {
  const files = named.filter(({ id }) => id === number).map(({ file }) => file);
  expect(files.filter((file) => !file.startsWith('tests/security/'))).not.toEqual([]);
});
