/** The programs of the documents, as files of the installed project and, with the types removed, as JavaScript. */
import { mkdir, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { readDocuments } from '../documents/blocks.ts';

export interface Snippet {
  /** `README-1`, `client-3`, `own-server-2`: the document, and its count there. */
  readonly name: string;
  readonly code: string;
}

/** Their programs run in frameworks that are not installed here: tests/interop/frameworks. */
const IN_FRAMEWORKS = 'docs/frameworks.md';

/** The blocks in TypeScript of all documents. */
export function readSnippets(root: string): readonly Snippet[] {
  return readDocuments(root)
    .filter(({ file }) => file !== IN_FRAMEWORKS)
    .flatMap(({ file, blocks }) =>
      blocks
        .filter(({ language }) => language === 'ts')
        .map(({ text }, index) => ({ name: `${nameOf(file)}-${index + 1}`, code: text })),
    );
}

/** `packages/client/README.md` → `client`, `docs/guides/own-server.md` → `own-server` */
function nameOf(file: string): string {
  return basename(file === 'README.md' ? file : file.replace(/\/README\.md$/, ''), '.md');
}

/** What fragments assume that their text or an earlier snippet explains. */
const ASSUMED = `
import type * as issuing from '@portcullis/authorization-server';
import type * as upstreams from '@portcullis/resource-server/upstream';
import type { Principal } from '@portcullis/resource-server';
import type * as node from '@portcullis/client/node';
import type * as core from '@portcullis/client';
import type * as steps from '@portcullis/client/steps';
import type * as transport from '@modelcontextprotocol/client';
import type { describeStoreContract } from '@portcullis/store/testing';
declare global {
  const masterKey: Uint8Array, server: issuing.AuthorizationServer;
  const resources: issuing.AuthorizationServerOptions['resources'];
  const upstream: ReturnType<typeof upstreams.createUpstreamTokens>, principal: Principal;
  const headers: Record<string, string>, body: string, serverUrl: string, pem: string;
  const client: ReturnType<typeof node.createNodeClient>, store: core.CredentialStore & issuing.AuthorizationServerOptions['store'];
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
