#!/usr/bin/env node
/**
 * Starts the command. Plain JavaScript that imports nothing newer than Node 18 before it knows the version, so that an older Node is
 * named instead of a SyntaxError. With the condition `portcullis-source` it runs the sources of a clone, whose types are stripped behind the compile cache.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const { engines } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
const [needed, given] = [engines.node, process.versions.node].map((version) =>
  version.replace('>=', '').split('.').map(Number),
);

if (given[0] < needed[0] || (given[0] === needed[0] && given[1] < needed[1])) {
  process.stderr.write(
    `portcullis: needs Node ${needed[0]}.${needed[1]} or later, and this is Node ${process.versions.node}: install it from https://nodejs.org, or put npx -p node@${needed[0]} before the command\n`,
  );
  process.exit(1);
}

// Halves the time to the first response. Beside the program: only users who can change the program can write there. If the folder is
// read-only, there is no cache. Long-running commands set V8 options, and V8 rejects code compiled with other options, so they have a
// cache of their own.
const { enableCompileCache } = await import('node:module');
const kind = ['up', 'protect', 'connect'].includes(process.argv[2]) ? 'lasting' : 'brief';
enableCompileCache(fileURLToPath(new URL(`.compile-cache/${kind}`, import.meta.url)));
try {
  await import('#main');
} catch (error) {
  if (existsSync(new URL('dist', import.meta.url)) || error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  process.stderr.write(
    'portcullis: this clone is not built: run npm run -s portcullis -- with the same arguments\n',
  );
  process.exit(1);
}
