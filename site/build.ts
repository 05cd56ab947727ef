/** Builds the site into `dist/`; a broken link fails the build, and so does a search that finds the wrong page first. With `--dev`, serves it and reloads when a page changes. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { writeApi } from './api.ts';
import { readContent, writeContent } from './content.ts';
import { findWrongResults } from './search.ts';

const pages = readContent();
for (const link of pages.broken) console.error(`Broken link in ${link}`);
if (pages.broken.length > 0) process.exit(1);
writeContent(pages);
await writeApi();
const vitepress = fileURLToPath(new URL('node_modules/vitepress/bin/vitepress.js', import.meta.url));
const command = process.argv.includes('--dev') ? 'dev' : 'build';
const { status } = spawnSync(
  process.execPath,
  [vitepress, command, fileURLToPath(new URL('.', import.meta.url))],
  {
    stdio: 'inherit',
  },
);
process.exitCode = status ?? 1;
if (command === 'build' && status === 0) {
  const wrong = await findWrongResults();
  for (const line of wrong) console.error(`Search: ${line}`);
  if (wrong.length > 0) process.exitCode = 1;
}
