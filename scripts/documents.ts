/** Writes the pages of docs/ that are generated from code. `npm run documents` */
import { writeFileSync } from 'node:fs';
import { configurationPage } from '../packages/cli/src/settings/page.ts';

writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationPage());
console.log('docs/configuration.md');
