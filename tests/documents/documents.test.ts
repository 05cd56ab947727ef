/** Every fenced block of every document is run or checked by a test; its JSON and YAML, and commands in sentences, are checked here. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runHere } from '../../packages/cli/test/support/in-process.ts';
import { readDocuments } from './blocks.ts';
import { asConfiguration, prepare } from './configuration.ts';
import { ELSEWHERE } from './reasons.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const documents = readDocuments(root);

/** Its JSON is that of responses. */
const RESPONSES = 'docs/errors.md';

const LANGUAGES = ['sh', 'text', 'json', 'yaml'];

const blocksIn = (language: string) =>
  documents.flatMap(({ file, blocks }) =>
    blocks
      .filter((block) => block.language === language && ELSEWHERE[`${file} ${language}`] === undefined)
      .map((block) => ({ file, ...block })),
  );

const folder = mkdtempSync(join(tmpdir(), 'portcullis-documents-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the blocks of the documents', () => {
  it('are in languages that are run or checked here, or by the test that the table names', () => {
    const unknown = documents.flatMap(({ file, blocks }) =>
      blocks
        .filter(({ language }) => !LANGUAGES.includes(language) && ELSEWHERE[language] === undefined)
        .map(({ number, language }) => `${file}, block ${number}: ${language || 'no language'}`),
    );
    expect(unknown).toEqual([]);
    for (const test of Object.values(ELSEWHERE)) expect(existsSync(join(root, test)), test).toBe(true);
  });

  it('hide no command among text', () => {
    const commands = blocksIn('text').filter(({ text }) => /^(?:\$ |portcullis [a-z]|npx? )/m.test(text));
    expect(commands.map(({ file, number }) => `${file}, block ${number}`)).toEqual([]);
  });

  it.each(blocksIn('yaml'))(
    '$file, block $number, is YAML, with a valid configuration',
    async ({ file, number, text }) => {
      for (const document of parseAllDocuments(text)) {
        expect(document.errors).toEqual([]);
        const { configuration, publicUrl } = document.toJS();
        const behind = { publicUrl, trustedProxies: ['10.0.0.0/8'], ...configuration };
        if (configuration !== undefined) await expectNoIssues(`${file}-${number}`, behind);
      }
    },
  );

  it('name scripts of this repository', () => {
    const { scripts }: { scripts: object } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const names = documents.flatMap(({ text }) =>
      [...text.matchAll(/^npm run (?:-s )?([\w:-]+)/gm)].map(([, name]) => name),
    );
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(names));
  });
});

describe('the JSON of the documents', () => {
  it.each(blocksIn('json'))('$file, block $number, is valid', async ({ file, number, text }) => {
    const json = JSON.parse(text);
    if (file === RESPONSES) return;
    const ofHost = json.mcpServers ?? (Array.isArray(json.servers) ? undefined : json.servers);
    if (ofHost !== undefined) return expect(JSON.stringify(ofHost)).toMatch(/"https?:\/\/[^"]+\/mcp"/);
    await expectNoIssues(`${file}-${number}`, asConfiguration(json));
  });
});

async function expectNoIssues(title: string, json: object): Promise<void> {
  const name = `${title.replaceAll('/', '-')}.json`;
  const { configuration, environment } = await prepare(json, folder);
  await writeFile(join(folder, name), configuration);
  expect(await runHere(['config', 'check', name], { environment, folder })).toMatchObject({
    code: 0,
    output: expect.stringContaining(`${name}: no issues.\n`),
    errors: '',
  });
}

/** `portcullis …` in sentences and tables, with the subcommands and flags that it has. */
describe('the commands in the text of the documents', () => {
  const commands = documents.flatMap(({ file, text }) =>
    [...text.matchAll(/`(?:npx @portcullis\/cli|portcullis) ([a-z][^`]*)`/g)].map(([, words = '']) => ({
      file,
      words,
    })),
  );

  it('are many', () => expect(commands.length).toBeGreaterThan(100));

  it.each(commands)('$file: portcullis $words', async ({ words }) => {
    const [own = ''] = words.split(/ -- /, 1);
    const help = await helpOf(own.split(/\s+/));
    for (const [flag] of own.matchAll(/--[a-z][a-z-]*/g)) expect(help).toMatch(new RegExp(`${flag}\\b`));
  });
});

const helps = new Map<string, Promise<string>>();

/** The help of the command that words begin with. */
async function helpOf(words: readonly string[]): Promise<string> {
  const [group = '', subcommand = ''] = words.filter((word) => /^[a-z][a-z-]*$/.test(word));
  const help = await readHelp([group]);
  if (subcommand === '' || !/^Commands:/m.test(help)) return help;
  expect(help).toMatch(new RegExp(`^  ${subcommand} `, 'm'));
  return readHelp([group, subcommand]);
}

function readHelp(names: readonly string[]): Promise<string> {
  const key = names.join(' ');
  const help =
    helps.get(key) ??
    runHere([...names, '--help'], { environment: {}, folder }).then(({ code, output, errors }) => {
      if (code !== 0) throw new Error(errors);
      return output;
    });
  helps.set(key, help);
  return help;
}
