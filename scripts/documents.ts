/** Writes the pages of docs/ that are generated from code. `npm run documents` */
import { writeFileSync } from 'node:fs';
import { generatedPages } from './documents/pages.ts';

for (const [file, text] of Object.entries(await generatedPages())) {
  writeFileSync(new URL(`../${file}`, import.meta.url), text);
  console.log(file);
}
