/** Operators find every line of the log in docs/events.md. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

it('docs/events.md lists every line that a process or its gateway writes to the log', () => {
  const files = globSync('packages/{cli,gateway}/src/**/*.ts', { cwd: root });
  const written = files.flatMap((file) =>
    [...readFileSync(`${root}/${file}`, 'utf8').matchAll(/\btype: '([a-z_]+\.[a-z_]+)'/g)].map(
      ([, type = '']) => type,
    ),
  );
  expect(written).toContain('configuration.reloaded');
  const documented = readFileSync(`${root}/docs/events.md`, 'utf8');
  expect([...new Set(written)].filter((type) => !documented.includes(`\`${type}\``))).toEqual([]);
});
