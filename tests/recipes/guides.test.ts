/** docs/guides and docs/hosts: each configuration is valid, and each command has the subcommands and flags that it is shown with. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../../packages/cli/test/support/in-process.ts';

const ROOT = new URL('../../', import.meta.url);
const FOLDERS = ['docs/guides/', 'docs/hosts/'];
const names = await Promise.all(
  FOLDERS.map(async (folder) => (await readdir(new URL(folder, ROOT))).map((name) => folder + name)),
);
const pages = await Promise.all(
  names.flat().map(async (name) => ({ name, text: await readFile(new URL(name, ROOT), 'utf8') })),
);

const blocks = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block,
  );

const configurations = pages
  .filter(({ name }) => name.startsWith('docs/guides/'))
  .flatMap(({ name, text }) => blocks(text, 'json').map((json, index) => [name, index + 1, json] as const));

/** Lines of blocks and code in sentences: `portcullis …`, also behind `npx` or variables. */
const commands = pages.flatMap(({ name, text }) => {
  const lines = blocks(text, '').flatMap((block) => block.split('\n'));
  const inline = [...text.matchAll(/`(portcullis [^`]+)`/g)].map(([, code = '']) => code);
  return [...lines, ...inline]
    .map((line) => /(?:^|[\w"]+ )portcullis ([a-z].*)/.exec(line)?.[1])
    .filter((words) => words !== undefined)
    .map((words) => [name, words] as const);
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portcullis-guides-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('the configurations of docs/guides', () => {
  it('cover the ways to sign in, machine clients and moving', () => {
    expect(new Set(configurations.map(([name]) => name)).size).toBeGreaterThanOrEqual(7);
  });

  it.each(configurations)('in %s, number %i, is valid', async (name, index, json) => {
    const file = `${name.split('/').at(-1)}-${index}.json`;
    await writeFile(join(folder, file), withSecrets(json));
    const environment = Object.fromEntries(
      [...json.matchAll(/"variable": "(\w+)"/g)].map(([, variable = '']) => [variable, '0'.repeat(32)]),
    );
    expect(await runHere(['config', 'check', file], { environment, folder })).toEqual({
      code: 0,
      output: `${file}: no issues.\n`,
      errors: '',
    });
  });
});

describe('the commands of docs/guides and docs/hosts', () => {
  it('are many', () => expect(commands.length).toBeGreaterThan(60));

  it.each(commands)('in %s: %s', async (_, line) => {
    const words = (line.split(/ -- | {2,}/, 1)[0] ?? '').split(' ');
    const help = await helpOf(words);
    const flags = words.filter((word) => word.startsWith('--')).map((word) => word.split('=', 1)[0] ?? '');
    for (const flag of flags) expect(help).toMatch(new RegExp(`${flag}\\b`));
  });
});

describe('the configurations of docs/hosts', () => {
  const ofHosts = pages.filter(({ name }) => name.startsWith('docs/hosts/'));

  it.each(ofHosts.flatMap(({ name, text }) => blocks(text, 'json').map((json) => [name, json] as const)))(
    'in %s is JSON that names a server',
    (_, json) => {
      const { servers, mcpServers } = JSON.parse(json);
      expect(JSON.stringify(servers ?? mcpServers)).toMatch(/"https?:\/\/[^"]+\/mcp"/);
    },
  );
});

/** Secrets in files become variables: the files are not part of the guides. */
function withSecrets(json: string): string {
  return json.replaceAll(/\{ "file": "[^"]+" \}/g, JSON.stringify('0'.repeat(32)));
}

/** The help of the longest prefix of words that is a command. */
async function helpOf(words: readonly string[]): Promise<string> {
  const names = words.filter((word) => /^[a-z][a-z-]*$/.test(word)).slice(0, 2);
  if (words[0] === '--version') return '--version';
  const [group = '', subcommand] = names;
  const found = await runHere([group, '--help'], { environment: {}, folder });
  expect(found.code).toBe(0);
  if (subcommand === undefined || !/^Commands:/m.test(found.output)) return found.output;
  expect(found.output).toMatch(new RegExp(`^  ${subcommand} `, 'm'));
  return (await runHere([group, subcommand, '--help'], { environment: {}, folder })).output;
}
