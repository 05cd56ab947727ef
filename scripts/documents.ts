/** Writes the pages of docs/ that are generated from code. `npm run documents` */
import { mkdirSync, writeFileSync } from 'node:fs';
import { generatedPages } from './documents/pages.ts';

mkdirSync(new URL('../docs/images/', import.meta.url), { recursive: true });
for (const [file, text] of Object.entries(await generatedPages())) {
  writeFileSync(new URL(`../${file}`, import.meta.url), text);
  console.log(file);
}
