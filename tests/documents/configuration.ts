/** Configurations of the documents, with the files and variables that they name. */
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** An entry of a list, or some settings, as a whole configuration. */
export function asConfiguration(json: Readonly<Record<string, unknown>>): object {
  if ('resource' in json) return { resources: [json] };
  const protects = 'servers' in json || 'resources' in json;
  const settings = 'preset' in json || 'kind' in json ? { identityProviders: [json] } : json;
  return protects
    ? settings
    : { servers: [{ path: '/mcp', backend: { url: 'http://127.0.0.1:3000/mcp' } }], ...settings };
}

export interface Prepared {
  readonly configuration: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Writes the files of secrets that a configuration names, and sets its variables. */
export async function prepare(json: object, into: string): Promise<Prepared> {
  const configuration = JSON.stringify(json).replaceAll('"/run/secrets/', '"run-secrets/');
  for (const [, path = ''] of configuration.matchAll(/"(?:file|logo)":"([^"]+)"/g))
    await writeSecret(into, path);
  const names = [...configuration.matchAll(/"variable":"(\w+)"/g)].map(([, name = '']) => name);
  return {
    configuration,
    environment: Object.fromEntries(names.map((name) => [name, VARIABLES[name] ?? SECRET])),
  };
}

export const SECRET = '0'.repeat(43);

/** Secrets of a form of their own. */
const VARIABLES: Readonly<Record<string, string>> = { SIEM_SECRET: `whsec_${'c2VjcmV0'.repeat(4)}` };

/** What configurations name beside secrets. */
const FILES: Readonly<Record<string, string>> = {
  'entra.key': 'tests/documents/entra-key.pem',
  'entra.pem': 'tests/documents/entra.pem',
  'AuthKey.p8': 'packages/cli/test/fixtures/localhost-key.pem',
  'logo.svg': 'site/public/logo.svg',
};

async function writeSecret(into: string, path: string): Promise<void> {
  const found = FILES[basename(path)];
  await mkdir(dirname(join(into, path)), { recursive: true });
  await writeFile(join(into, path), found === undefined ? SECRET : readFileSync(join(root, found)), {
    mode: 0o600,
  });
}
