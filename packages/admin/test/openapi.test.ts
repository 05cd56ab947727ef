/** The OpenAPI document of the admin API, and requests that are made of it. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, type Installation, startInstallation, stateOf } from './installation.ts';

interface Described {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: { readonly maximum?: number };
  }[];
  readonly security: readonly { readonly oauth: readonly string[] }[];
  readonly requestBody?: { readonly required: boolean };
  readonly responses: Readonly<
    Record<
      string,
      { readonly content?: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>> }
    >
  >;
}

interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

let t: Installation;
let document: OpenApi;
let operations: readonly { readonly line: string; readonly described: Described }[];
beforeAll(async () => {
  t = await startInstallation();
  document = (await (await fetch(`${t.api}/openapi.json`)).json()) as OpenApi;
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      line: `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, 'unknown-thing')}`,
      described,
    })),
  );
});
afterAll(() => t.stop());

const scopeOf = ({ security }: Described) => security[0]?.oauth[0];
const isStream = ({ responses }: Described) => 'text/event-stream' in (responses['200']?.content ?? {});

describe('the OpenAPI document', () => {
  it('describes each operation once, with its scope, and needs no token', () => {
    expect(document.openapi).toBe('3.1.1');
    const ids = operations.map(({ described }) => described.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(35);
    for (const { line, described } of operations)
      expect([line, scopeOf(described)]).toEqual([line, expect.stringMatching(/^admin:(?:read|write)$/)]);
  });

  it('no operation is open to requests without a token, or with the token of a client without a role', async () => {
    const before = await stateOf(t);
    for (const { line } of operations) {
      const body = line.startsWith('P') ? {} : undefined;
      expect([line, (await call(t, null, line, body)).status]).toEqual([line, 401]);
      expect([line, (await call(t, 'not-a-token', line, body)).status]).toEqual([line, 401]);
    }
    expect(await stateOf(t)).toEqual(before);
  });

  it('a viewer may use the operations that read, and none that changes something', async () => {
    const token = await t.machineToken('watcher');
    const before = await stateOf(t);
    for (const { line, described } of operations) {
      if (isStream(described)) continue;
      const { status } = await call(t, token, line, line.startsWith('P') ? {} : undefined);
      const refused = scopeOf(described) === 'admin:write';
      expect([line, status === 403]).toEqual([line, refused]);
    }
    expect(await stateOf(t)).toEqual(before);
  });

  it('responses are as the document describes them, and errors are problem details', async () => {
    const token = await t.machineToken('ops');
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema({ $id: 'openapi', components: document.components });
    let read = 0;
    for (const { line, described } of operations) {
      if (isStream(described) || !line.startsWith('GET')) continue;
      const { status, body } = await call(t, token, line);
      const [content] = Object.values(described.responses[String(status)]?.content ?? {});
      expect([line, content?.schema.$ref]).toEqual([line, expect.any(String)]);
      const isValid = ajv.validate({ $ref: `openapi${content?.schema.$ref}` }, body);
      expect([line, ajv.errorsText(), isValid]).toEqual([line, 'No errors', true]);
      read += Number(status === 200);
    }
    expect(read).toBeGreaterThan(10);
  });

  it('each list takes as many items as the document says, and not one more', async () => {
    const token = await t.machineToken('watcher');
    const lists = operations.flatMap(({ line, described }) => {
      const limit = described.parameters.find(({ name }) => name === 'limit');
      return limit === undefined ? [] : [{ line, most: limit.schema.maximum ?? 0 }];
    });
    expect(lists).toContainEqual({ line: 'GET /policy/who-can', most: 1000 });
    for (const { line, most } of lists) {
      const refusal = expect.objectContaining({ at: 'query.limit' });
      const issuesAt = async (limit: number) =>
        (await call(t, token, `${line}?limit=${limit}`)).body['issues'] ?? [];
      expect([line, await issuesAt(most)]).toEqual([line, expect.not.arrayContaining([refusal])]);
      expect([line, await issuesAt(most + 1)]).toEqual([line, expect.arrayContaining([refusal])]);
    }
  });

  it('bodies with a member that the document does not have are refused everywhere', async () => {
    const token = await t.machineToken('ops');
    const before = await stateOf(t);
    for (const { line } of operations) {
      if (!line.startsWith('P')) continue;
      const { status, body } = await call(t, token, line, { isAdmin: true });
      expect([line, status, body['title']]).toEqual([line, 400, 'The request cannot be used']);
    }
    expect(await stateOf(t)).toEqual(before);
  });
});
