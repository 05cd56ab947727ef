/** The requirements that ask for nothing but that all of a list is met. */
import { expect, it } from 'vitest';
import { compare } from './coverage.ts';
import { readAllCitations, readRequirements } from './workspace.ts';

const list = readRequirements();
const { missing } = compare(list, readAllCitations());

it.each([
  ['[ALL-SEC-30] security page', /-(CONS|STATE|AUD|SESS|SSRF|URL|LOCAL|MIN)-4\d$|^C-MIX-30$/, 38],
  ['[ALL-SEC-30] seventh section of OAuth 2.1', /O13 7\./, 10],
  ['[X-CC-1] extension for client credentials', /^X-CC-(?!1$)/, 15],
])('%s: each line is kept and tested, or put off with a reason', (_list, belongs, count) => {
  const lines = list.filter(({ id, source }) => belongs.test(id) || belongs.test(source));
  expect(lines.length).toBeGreaterThanOrEqual(count);
  expect(lines.filter(({ status }) => status === 'planned')).toEqual([]);
  expect(missing.filter((requirement) => lines.includes(requirement))).toEqual([]);
});
