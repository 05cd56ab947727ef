/** The TypeScript of the READMEs, as files of the installed project and, with the types removed, as JavaScript. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { publishedPackages } from '../../scripts/packages.ts';

export interface Snippet {
  /** `README-1`, `client-3`: the README and the place there. */
  readonly name: string;
  readonly code: string;
}

/** Of the README of this repository, then of each package. */
export async function readSnippets(root: string): Promise<readonly Snippet[]> {
  const folders = ['.', ...publishedPackages(root).map(({ folder }) => folder)];
  const pages = folders.map(async (folder) => {
    const page = await readFile(join(root, folder, 'README.md'), 'utf8');
    const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)];
    const name = folder === '.' ? 'README' : basename(folder);
    return blocks.map(([, code = ''], index) => ({ name: `${name}-${index + 1}`, code }));
  });
  return (await Promise.all(pages)).flat();
}

/** What fragments assume that their text or an earlier snippet explains. */
const ASSUMED = `
import type { AuthorizationServer } from '@portcullis/authorization-server';
import type * as node from '@portcullis/client/node';
import type * as core from '@portcullis/client';
import type * as steps from '@portcullis/client/steps';
import type * as transport from '@modelcontextprotocol/client';
import type { describeStoreContract } from '@portcullis/store/testing';
declare global {
  const masterKey: Uint8Array, server: AuthorizationServer;
  const headers: Record<string, string>, body: string, serverUrl: string, pem: string;
  const client: ReturnType<typeof node.createNodeClient>, store: core.CredentialStore;
  const createNodeClient: typeof node.createNodeClient, readSigningKey: typeof core.readSigningKey;
  const StreamableHTTPClientTransport: typeof transport.StreamableHTTPClientTransport;
  const location: { href: string };
  const ask: (question: string) => Promise<boolean>;
  const tokens: Parameters<typeof steps.refreshTokenRequest>[0];
  const issuer: Parameters<typeof steps.refreshTokenRequest>[1];
  const registration: Parameters<typeof steps.refreshTokenRequest>[2];
  const mySend: (url: string, method: string, headers: object, body: string | null) => Promise<Parameters<typeof steps.processTokenResponse>[2]>;
  const openMyEmptyStore: Parameters<typeof describeStoreContract>[1];
  const response: Response;
}
`;

const STRICT = { module: 'nodenext', target: 'es2024', lib: ['es2024'], types: ['node'], noEmit: true };

/** The folders `ts` and `js` of the project, each with a `tsconfig.json`. */
export async function writeSnippets(folder: string, snippets: readonly Snippet[]): Promise<void> {
  const options = {
    ts: { ...STRICT, strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
    js: { ...STRICT, strict: false, allowJs: true, checkJs: true },
  };
  for (const kind of ['ts', 'js'] as const) {
    const config = { compilerOptions: options[kind], include: [`*.${kind}`, 'assumed.d.ts'] };
    await write(folder, `${kind}/tsconfig.json`, JSON.stringify(config));
    await write(folder, `${kind}/assumed.d.ts`, ASSUMED);
  }
  for (const { name, code } of snippets) {
    // A file without an import or export would be a script.
    const program = /^(?:import|export) /m.test(code) ? code : `${code}export {};\n`;
    await write(folder, `ts/${name}.ts`, program);
    await write(folder, `js/${name}.js`, stripTypeScriptTypes(program));
  }
}

export async function write(folder: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}
