/** The gates that need no running server: format and lint, types, layers, unused code. `npm run check [-- name…]` */
import { spawn } from 'node:child_process';

const steps = {
  'format and lint': 'biome check --error-on-warnings',
  // More checkers than cores repeat much of each other's work.
  types: 'tsc --checkers 2 --project tsconfig.json',
  layers: 'vitest run tests/architecture',
  // Its configuration says that the built files in `dist` are those of `src`.
  'unused code': 'knip --tsConfig tsconfig.build.json --treat-config-hints-as-errors',
};

function run(command: string): Promise<{ passed: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('close', (code) => resolve({ passed: code === 0, output }));
  });
}

const named = process.argv.slice(2);
const unknown = named.filter((name) => !Object.hasOwn(steps, name));
if (unknown.length > 0)
  throw new Error(`There is no gate ${unknown.join(', ')}: ${Object.keys(steps).join(', ')}.`);
const results = await Promise.all(
  Object.entries(steps)
    .filter(([name]) => named.length === 0 || named.includes(name))
    .map(async ([name, command]) => ({ name, command, ...(await run(command)) })),
);
for (const { name, command, passed, output } of results) {
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${name} (${command})`);
  if (!passed) console.log(output.trimEnd().replaceAll(/^/gm, '     '));
}
const failed = results.filter((result) => !result.passed).length;
console.log(`${results.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
