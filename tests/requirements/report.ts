/** Prints how much of the requirements the tests cover, and what is missing. `npm run requirements` */
import { compare, summarize } from './coverage.ts';
import { readAllCitations, readRequirements } from './workspace.ts';

const list = readRequirements();
const citations = readAllCitations();
const { missing, unknown, issues } = compare(list, citations);

console.table(summarize(list, citations));
if (missing.length > 0) console.log(`\nNamed by no test (${missing.length}):`);
for (const { id, level, role, text, source } of missing)
  console.log(`  ${id} (${level}, ${role}, ${source})\n      ${text}`);
for (const { id, file } of unknown) console.log(`${file} names ${id}, which is not on the list`);
for (const issue of issues) console.log(issue);
process.exitCode = missing.length + unknown.length + issues.length === 0 ? 0 : 1;
