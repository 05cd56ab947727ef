/**
 * Every operation of the admin API, as its OpenAPI document lists them: who is refused, and what a request may not do. A new operation is
 * tested as soon as it is in the document; one with a new parameter needs a thing that it names.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  call,
  type Installation,
  owner,
  signIn,
  startInstallation,
  stateOf,
  userToken,
} from './installation.ts';

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Described {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly security: readonly [{ readonly oauth: readonly [string] }];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
}

/** One operation, with requests to it. */
interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly scope: string;
  readonly parameters: readonly string[];
  readonly required: readonly string[];
  readonly hasEtag: boolean;
  /** Valid by the schema; absent: it takes none. */
  readonly body: object | undefined;
}

const MFA = ['pwd', 'otp', 'mfa'];
const UNKNOWN = 'unknown-thing';

let t: Installation;
let operations: readonly Operation[];
let ops: string;
/** What each parameter of a path names, of a kind of its own. */
let things: Readonly<Record<string, string>>;

beforeAll(async () => {
  t = await startInstallation();
  ops = await t.machineToken('ops');
  const document = (await (await fetch(`${t.api}/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  };
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operationOf(path, method, described)),
  );
  things = await createThings();
});
afterAll(() => t.stop());

function operationOf(path: string, method: string, described: Described): Operation {
  const { operationId: id, parameters, security, requestBody } = described;
  const schema = requestBody?.content['application/json'].schema;
  return {
    ...{ id, path, method: method.toUpperCase(), scope: security[0].oauth[0] },
    parameters: parameters.filter((one) => one.in === 'path').map(({ name }) => name),
    required: parameters.filter((one) => one.in === 'query' && one.required).map(({ name }) => name),
    hasEtag: parameters.some(({ name }) => name === 'If-Match'),
    body: schema === undefined ? undefined : (sampleOf(schema) as object),
  };
}

/** The least that a schema requires. */
function sampleOf({
  type,
  format,
  enum: values,
  minimum = 1,
  properties = {},
  required = [],
}: Schema): unknown {
  const [first] = values ?? [];
  if (first !== undefined) return first;
  if (type === 'object')
    return Object.fromEntries(
      required.map((name) => [name, sampleOf(properties[name] ?? { type: 'string' })]),
    );
  if (type === 'integer' || type === 'number') return minimum;
  if (type === 'boolean') return false;
  if (type === 'array') return [];
  return format === 'date-time' ? '2026-01-01T00:00:00Z' : format === 'email' ? 'to@example.com' : UNKNOWN;
}

async function createThings(): Promise<typeof things> {
  const added = await call(t, ops, 'POST /users', { email: 'thing@example.com' });
  const { id: userId } = (added.body as { readonly user: { readonly id: string } }).user;
  const metadata = { redirect_uris: ['https://app.example/callback'], client_id: 'thing' };
  await call(t, ops, 'POST /clients', { metadata });
  const token = await call(t, ops, 'POST /initial-access-tokens', {});
  await userToken(t, MFA, { role: 'operator' });
  const grants = await call(t, ops, `GET /users/${owner.email}/grants`);
  const [grant] = (grants.body as { readonly items: readonly { readonly id: string }[] }).items;
  return {
    ...{ userId, clientId: 'thing', grantId: grant?.id ?? '', tokenId: String(token.body['id']) },
    // None exists, and that of another kind is none.
    ...{ approvalId: UNKNOWN, transactionId: UNKNOWN, streamId: UNKNOWN, name: UNKNOWN },
  };
}

/** Everything that a refusal must leave as it was. */
async function wholeState(): Promise<unknown> {
  const now = Math.floor(Date.now() / 1000);
  const more = await t.onStore(async (store) => ({
    grants: await Promise.all(
      (await store.listAccounts('', 100)).map(async ({ id }) =>
        (await store.listGrants(id, now, null, 100)).map((grant) => grant.id),
      ),
    ),
    tokens: await store.listInitialAccessTokens('', 100, now),
    roles: (await store.listAccounts('', 100)).map(({ role }) => role),
  }));
  return [await stateOf(t), more];
}

/** `GET /users/user_1?server=x` @param named values of the parameters of the path */
function lineOf({ method, path, required }: Operation, named: Readonly<Record<string, string>>): string {
  const query = required.map((name) => `${name}=${UNKNOWN}`).join('&');
  const filled = path.replace(
    /\{(\w+)\}/g,
    (_, name: string) => named[name] ?? expect.fail(`no thing for ${name}`),
  );
  return `${method} ${filled}${query === '' ? '' : `?${query}`}`;
}

type Response = Awaited<ReturnType<typeof call>>;

/** Sends a request to each operation. @returns what was not as expected, and whether anything changed */
async function violations(
  send: (operation: Operation, line: string) => Promise<Response>,
  isRefused: (response: Response, operation: Operation) => boolean,
  chosen: readonly Operation[] = operations,
): Promise<{ readonly wrong: readonly string[]; readonly isUnchanged: boolean }> {
  const before = JSON.stringify(await wholeState());
  const wrong: string[] = [];
  for (const operation of chosen) {
    const line = lineOf(operation, things);
    const response = await send(operation, line);
    if (!isRefused(response, operation))
      wrong.push(`${line}: ${response.status} ${JSON.stringify(response.body)}`);
  }
  return { wrong, isUnchanged: JSON.stringify(await wholeState()) === before };
}

const NONE = { wrong: [], isUnchanged: true };
const challengeOf = ({ headers }: Response) => headers.get('www-authenticate') ?? '';

describe('every operation of the admin API', () => {
  it('has a thing of its own for each parameter, and there are all kinds of operations', () => {
    const named = new Set(operations.flatMap(({ parameters }) => parameters));
    expect([...named].filter((name) => things[name] === undefined)).toEqual([]);
    expect(operations.length).toBeGreaterThan(45);
    expect(operations.filter(({ hasEtag }) => hasEtag).length).toBeGreaterThan(8);
  });

  it('refuses a token of another resource, one of the admin MCP server, and a cookie of an operator', async () => {
    const tokens = [
      await t.machineToken('ops', 'notes:read', t.resource),
      await t.machineToken('ops', undefined, `${t.url}/admin/mcp`),
    ];
    const is401 = ({ status }: Response) => status === 401;
    for (const token of tokens)
      expect(await violations(({ body }, line) => call(t, token, line, body), is401)).toEqual(NONE);
    const cookie = await signIn(t, MFA, { role: 'operator' });
    expect(await violations(({ body }, line) => call(t, null, line, body, { cookie }), is401)).toEqual(NONE);
  });

  it('that changes something refuses a token that may only read, and names the scope', async () => {
    const token = await t.machineToken('ops', 'admin:read');
    const writing = operations.filter(({ scope }) => scope === 'admin:write');
    const found = await violations(
      ({ body }, line) => call(t, token, line, body),
      (response) => response.status === 403 && challengeOf(response).includes('scope="admin:write"'),
      writing,
    );
    expect(found).toEqual(NONE);
  });

  it('refuses an operator without a second factor, and one whose role was taken away', async () => {
    const one = await userToken(t, ['pwd'], { role: 'operator' });
    const demanded = await violations(
      ({ body }, line) => call(t, one, line, body),
      (response) => response.status === 401 && challengeOf(response).includes('acr_values="2fa"'),
    );
    expect(demanded).toEqual(NONE);
    const two = await userToken(t, MFA, { role: 'operator' });
    expect((await call(t, two, 'GET /users')).status).toBe(200);
    await signIn(t, MFA, { role: null });
    const refused = await violations(
      ({ body }, line) => call(t, two, line, body),
      ({ status }) => status === 403,
    );
    expect(refused).toEqual(NONE);
    await signIn(t, MFA, { role: 'operator' });
    expect((await call(t, two, 'GET /users')).status).toBe(200);
  });

  it('refuses members and parameters that it does not have', async () => {
    const is400 = ({ status }: Response) => status === 400;
    const extra = await violations(({ body, method }, line) => {
      const more = {
        id: 'user_mine',
        role: 'operator',
        isAdmin: true,
        origin: 'administered',
      };
      return method === 'POST' || method === 'PATCH'
        ? call(t, ops, line, { ...body, ...more, colour: 'red' })
        : call(t, ops, `${line}${line.includes('?') ? '&' : '?'}isAdmin=true`);
    }, is400);
    expect(extra).toEqual(NONE);
  });

  it('that names what was read refuses a stale ETag', async () => {
    const found = await violations(
      ({ body }, line) => call(t, ops, line, body, { 'if-match': '"stale"' }),
      ({ status }) => status === 412,
      operations.filter(({ hasEtag }) => hasEtag),
    );
    expect(found).toEqual(NONE);
  });

  it('has no If-Match otherwise, and refuses it instead of ignoring it', async () => {
    const found = await violations(
      ({ body }, line) => call(t, ops, line, body, { 'if-match': '"stale"' }),
      ({ status }) => status === 400,
      operations.filter(({ hasEtag, method }) => !hasEtag && method !== 'GET'),
    );
    expect(found).toEqual(NONE);
  });

  it.each([
    ['the identifier of a thing of another kind', null],
    ['a path', '..%2F..%2Fusers'],
    ['a name of a prototype', '__proto__'],
    ['a pattern', '%25'],
    ['a statement', `x'%20OR%20'1'%3D'1`],
    ['a byte of zero', 'a%00b'],
    ['broken UTF-8', '%ff'],
    ['more than any identifier has', 'x'.repeat(5_000)],
  ])('with a parameter finds nothing by %s', async (_, hostile) => {
    const before = JSON.stringify(await wholeState());
    const wrong: string[] = [];
    for (const operation of operations) {
      for (const parameter of operation.parameters) {
        const others =
          hostile === null ? Object.values(things).filter((id) => id !== things[parameter]) : [hostile];
        for (const id of others) {
          const line = lineOf(operation, { ...things, [parameter]: id });
          const { status, body } = await call(t, ops, line, operation.body);
          const isEmpty = status === 200 && JSON.stringify(body['items'] ?? null) === '[]';
          if (!isEmpty && status !== 400 && status !== 404) wrong.push(`${line}: ${status}`);
        }
      }
    }
    expect([wrong, JSON.stringify(await wholeState()) === before]).toEqual([[], true]);
  });

  it('makes a change once for the key of a caller, and has another operator use the same key', async () => {
    const second = await t.machineToken('ops2');
    const used = 'was received before';
    const wrong: string[] = [];
    for (const operation of operations.filter(({ method }) => method !== 'GET')) {
      const unknown = Object.fromEntries(operation.parameters.map((name) => [name, UNKNOWN]));
      const line = lineOf(operation, unknown);
      const key = { 'idempotency-key': `key-of-${operation.id}` };
      const details: string[] = [];
      for (const token of [ops, ops, second])
        details.push(JSON.stringify((await call(t, token, line, operation.body, key)).body));
      const found = details.map((detail) => detail.includes(used));
      if (JSON.stringify(found) !== '[false,true,false]') wrong.push(`${line}: ${details.join(' ')}`);
    }
    expect(wrong).toEqual([]);
  });

  it('that changes something leaves an event', async () => {
    const named = async () => {
      const events = await t.onStore((store) => store.listEvents('', 1000));
      return events.filter(({ type }) => type === 'admin.changed').length;
    };
    // These reach out, and change nothing.
    const tries = ['testServers'];
    const writing = operations.filter(
      ({ id, scope, method }) => scope === 'admin:write' && method !== 'GET' && !tries.includes(id),
    );
    const changed: string[] = [];
    const last = ({ method, path }: Operation) =>
      Number(method === 'DELETE') + Number(path.endsWith('disable'));
    for (const operation of writing.toSorted((one, other) => last(one) - last(other))) {
      const before = await named();
      const { status } = await call(t, ops, lineOf(operation, things), operation.body);
      if (status >= 300) continue;
      changed.push(operation.id);
      await expect.poll(named, { message: operation.id }).toBeGreaterThan(before);
    }
    expect(changed.length).toBeGreaterThan(10);
  });
});
