/** The configurations of examples/policy are valid, docs/policy.md links each, and the cases are decided as they expect. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runHere } from '../../packages/cli/test/support/in-process.ts';

const folder = fileURLToPath(new URL('../../examples/policy/', import.meta.url));
const page = readFileSync(new URL('../../docs/policy.md', import.meta.url), 'utf8');
const files = readdirSync(folder);
const run = (...words: readonly string[]) => runHere(words, { environment: {}, folder });

describe('the files of examples/policy', () => {
  it.each(files.filter((name) => name !== 'cases.json'))('%s is a valid configuration', async (name) => {
    expect(await run('config', 'check', name)).toMatchObject({ code: 0, errors: '' });
  });

  it.each(files)('%s is linked by the guide', (name) => {
    expect(page).toContain(`(../examples/policy/${name})`);
  });

  it('cases.json is decided as it expects', async () => {
    const { code, output } = await run('policy', 'test', 'cases.json', '--config', 'conditions.json');
    expect([code, output]).toEqual([0, '5 of 5 cases as expected\n']);
  });
});
