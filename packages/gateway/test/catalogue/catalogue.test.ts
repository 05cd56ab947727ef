import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { DefinitionPinStore } from '@portcullis/protocol';
import { openStore } from '@portcullis/store';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openEmptyStore } from '../../../../tests/support/migrated-store.ts';
import { createCatalogue } from '../../src/catalogue/catalogue.ts';
import { createPinBoard, type ToolChange } from '../../src/catalogue/pins.ts';
import { canonicalJson, type ToolDefinition } from '../../src/catalogue/tool-definition.ts';
import { scanBody } from '../../src/messages/body-scanner.ts';
import { compilePolicy } from '../../src/policy/compile-policy.ts';
import { createOperationControl } from '../../src/server-control.ts';
import type { GatewayRequest } from '../../src/servers/request.ts';

let store: Awaited<ReturnType<typeof openStore>>;

beforeEach(async () => {
  store = await openEmptyStore();
});
afterEach(async () => store.close());

/** Bytes once all garbage is gone. */
function usedHeap(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
  return process.memoryUsage().heapUsed;
}

const tool = (name: string, more: object = {}): ToolDefinition => ({
  name,
  description: `Runs ${name}`,
  inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
  ...more,
});

function setUp(
  tools: readonly ToolDefinition[],
  {
    review = 'first-use' as 'first-use' | 'auto',
    resource = 'https://gateway.example/files',
    process = null as 'shared' | 'user' | null,
  } = {},
) {
  /** `older`: what it lists in another revision. */
  const backend = {
    tools,
    older: [] as readonly ToolDefinition[],
    lists: 0,
    atOnce: 0,
    most: 0,
    fails: false,
    /** By user. */
    hangs: new Map<string, Promise<void>>(),
    /** In the sessions of one user. */
    toolsOf: new Map<string, readonly ToolDefinition[]>(),
  };
  const clock = { ms: 0 };
  const changes: ToolChange[] = [];
  const rules = {
    tools: { delete_file: false, '*': ['use'] } as const,
    resources: null,
    prompts: null,
    methods: null,
  };
  const server = {
    path: '/files',
    resource,
    id: 'files',
    pinnedBackend: 'http://a',
    backend: process === null ? { kind: 'http' } : { kind: 'stdio', process },
    review,
    rules,
    unknownMethods: 'pass',
    toolChallenges: [],
  };
  const requestOf = (subject = 'alice') =>
    ({
      server,
      owner: { issuer: 'https://as.example', subject },
      principal: { clientId: 'app', scopes: ['use'], groups: [], claims: {} },
      incoming: { headers: {} },
    }) as unknown as GatewayRequest;
  const pins = (pinStore: DefinitionPinStore) =>
    createPinBoard(
      pinStore,
      () => clock.ms,
      () => 1000,
    );
  const catalogueOf = (pinStore: DefinitionPinStore = store) =>
    createCatalogue({
      pins: pins(pinStore),
      now: () => clock.ms,
      onChange: (changed) => changes.push(...changed),
      async list({ owner }, revisions) {
        backend.lists += 1;
        backend.atOnce += 1;
        backend.most = Math.max(backend.most, backend.atOnce);
        const listed = backend.toolsOf.get(owner.subject) ?? backend.tools;
        await (backend.hangs.get(owner.subject) ?? new Promise((resolve) => setImmediate(resolve)));
        backend.atOnce -= 1;
        if (backend.fails) throw new Error('down');
        return revisions === 'every' ? [listed, backend.older] : [listed];
      },
    });
  const catalogue = catalogueOf();
  const control = createOperationControl(
    compilePolicy({ ...requestOf().server, index: 0 }, { offered: ['use'] }),
    catalogue,
  );
  const bodyOf = (name: string) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } };
    const bytes = Buffer.from(JSON.stringify(message));
    return { ...scanBody(bytes), bytes };
  };
  const credential = { headers: {}, key: '', sign: null };
  return {
    ...{ backend, clock, changes, catalogue, catalogueOf, requestOf },
    call: async (name: string, user?: string) => control.decide(requestOf(user), bodyOf(name), credential),
    list: async (listed: readonly unknown[]) => {
      const result = await control.filter({ tools: listed, nextCursor: 'x' }, requestOf(), '');
      return (result as { readonly tools: readonly ToolDefinition[] }).tools.map(({ name }) => name);
    },
  };
}

const LIST = { server: '/files', backend: 'http://a', kind: 'tool' } as const;

const refusal = expect.objectContaining({ status: 403 });

describe('the catalogue', () => {
  it('approves the tools of the first use, and lists and calls them', async () => {
    const { call, list, backend, changes } = setUp([tool('read'), tool('write')]);
    await expect(call('read')).resolves.toBeNull();
    expect(await list(backend.tools)).toEqual(['read', 'write']);
    expect(changes).toEqual([]);
    expect(backend.lists).toBe(1);
  });

  it('refuses a tool whose description changed between list and call, once that is announced', async () => {
    const { call, list, backend, catalogue, changes } = setUp([tool('read'), tool('write')]);
    expect(await list(backend.tools)).toEqual(['read', 'write']);
    backend.tools = [tool('read', { description: 'Sends everything elsewhere' }), tool('write')];
    catalogue.changed();
    await expect(call('read')).rejects.toEqual(refusal);
    await expect(call('write')).resolves.toBeNull();
    expect(await list(backend.tools)).toEqual(['write']);
    expect(changes).toEqual([expect.objectContaining({ tool: 'read', state: 'changed' })]);
  });

  it('refuses a tool that changed without announcement within the lifetime of the list', async () => {
    const { call, backend, clock } = setUp([tool('read')]);
    await call('read');
    backend.tools = [tool('read', { annotations: { readOnlyHint: true } })];
    clock.ms += 60_000;
    await expect(call('read')).rejects.toEqual(refusal);
  });

  it('notices a changed tool when a client lists it, before the lifetime has passed', async () => {
    const { call, list, backend } = setUp([tool('read')]);
    await call('read');
    backend.tools = [tool('read', { inputSchema: { type: 'object' } })];
    expect(await list(backend.tools)).toEqual([]);
    await expect(call('read')).rejects.toEqual(refusal);
  });

  it.each([
    ['_meta', { ui: { resourceUri: 'ui://files/view' } }],
    ['icons', [{ src: 'https://files.example/icon.png' }]],
    ['execution', { taskSupport: 'optional' }],
    ['x-vendor', 'anything'],
  ])('hides a tool whose %s changed after it was approved', async (member, value) => {
    const { list, changes } = setUp([tool('read', { [member]: 'as approved' }), tool('write')]);
    expect(await list([tool('read', { [member]: 'as approved' }), tool('write')])).toEqual(['read', 'write']);
    expect(await list([tool('read', { [member]: value }), tool('write')])).toEqual(['write']);
    expect(changes).toEqual([expect.objectContaining({ tool: 'read', state: 'changed' })]);
  });

  it('accepts what a pin of version 0.1 covers once, whatever else is listed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-pins-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    await store.close();
    store = await openStore(join(folder, 'portcullis.db'));
    const { name, description, inputSchema } = tool('read');
    const pins = ['read', 'write'].map((one) => {
      const definition = canonicalJson({ ...tool(one), name: one });
      return { name: one, definition, hash: createHash('sha256').update(definition).digest('base64url') };
    });
    await store.saveFirstPins(LIST, pins, 1);
    const database = new DatabaseSync(join(folder, 'portcullis.db'));
    database.exec("UPDATE definition_pins SET covers = 'members'");
    database.close();

    const listed = [{ name, description, inputSchema, icons: [{ src: 'a' }] }, tool('write')];
    const { list, backend, catalogue, changes } = setUp(listed);
    expect(await list(listed)).toEqual(['read', 'write']);
    expect((await store.findPins(LIST)).map(({ covers, status }) => [covers, status])).toEqual([
      ['whole', 'approved'],
      ['whole', 'approved'],
    ]);
    backend.tools = [{ name, description, inputSchema, icons: [{ src: 'b' }] }, tool('write', { icons: [] })];
    catalogue.changed();
    expect(await list(backend.tools)).toEqual([]);
    expect(changes.map((change) => change.tool)).toEqual(['read', 'write']);
  });

  it('approves at first use what the backend lists in any revision, with several definitions of one tool', async () => {
    const { call, list, backend, catalogue, requestOf, changes } = setUp([tool('read'), tool('write')]);
    const older = tool('read', { title: 'As in an older revision' });
    backend.older = [older, tool('only_older', { annotations: { readOnlyHint: true } })];
    expect(await list(backend.older)).toEqual(['read', 'only_older']);
    expect(await list(backend.tools)).toEqual(['read', 'write']);
    catalogue.changed();
    await expect(call('only_older')).resolves.toBeNull();
    expect([...(await catalogue.tools(requestOf(), '')).keys()].toSorted()).toEqual([
      'only_older',
      'read',
      'write',
    ]);
    expect(await list([tool('read', { title: 'Another' }), tool('only_older')])).toEqual([]);
    expect(changes.map((change) => [change.tool, change.state])).toEqual([
      ['read', 'changed'],
      ['only_older', 'changed'],
    ]);
  });

  it('shows a client the approved tools of its own list, and hides from it alone what its session adds', async () => {
    const { call, list, backend, clock, changes } = setUp([tool('read'), tool('sample')]);
    expect(await list([tool('read')])).toEqual(['read']);
    expect(await list(backend.tools)).toEqual(['read', 'sample']);
    await expect(call('sample')).resolves.toBeNull();
    expect(await list([...backend.tools, tool('of_a_session')])).toEqual(['read', 'sample']);
    await expect(call('of_a_session')).rejects.toThrow('Unknown tool');
    expect(await list(backend.tools)).toEqual(['read', 'sample']);
    expect(changes).toEqual([expect.objectContaining({ tool: 'of_a_session', state: 'new' })]);
    expect((await store.listPendingPins(10)).map(({ name }) => name)).toEqual(['of_a_session']);
    const [pending] = changes;
    await store.decidePendingPin('approve', LIST, { name: 'of_a_session', hash: pending?.hash ?? '' }, 1000);
    clock.ms += 3000;
    expect(await list([...backend.tools, tool('of_a_session')])).toEqual(['read', 'sample', 'of_a_session']);
    await expect(call('of_a_session')).resolves.toBeNull();
  });

  it('takes a renamed tool for a new one that waits for approval', async () => {
    const { call, list, backend, catalogue, changes } = setUp([tool('read'), tool('write')]);
    await call('read');
    backend.tools = [{ ...tool('read'), name: 'fetch' }, tool('write')];
    catalogue.changed();
    await expect(call('fetch')).rejects.toEqual(refusal);
    expect(await list(backend.tools)).toEqual(['write']);
    expect(changes).toEqual([expect.objectContaining({ tool: 'fetch', state: 'new' })]);
  });

  it.each(['rеad', 'ｒead', 'read\u200b', 'READ', 'read '])(
    'refuses the look-alike %j of an approved tool',
    async (name) => {
      const { call } = setUp([tool('read')]);
      await expect(call('read')).resolves.toBeNull();
      await expect(call(name)).rejects.toThrow('Unknown tool');
    },
  );

  it('takes two tools of one name for neither', async () => {
    const { call } = setUp([tool('read'), tool('read', { description: 'other' }), tool('write')]);
    await expect(call('write')).resolves.toBeNull();
    await expect(call('read')).rejects.toThrow('Unknown tool');
  });

  it('shows and calls a changed tool again once it is approved, in every process', async () => {
    const { call, list, backend, catalogue, clock, changes } = setUp([tool('read')]);
    await call('read');
    backend.tools = [tool('read', { description: 'better' })];
    catalogue.changed();
    await expect(call('read')).rejects.toEqual(refusal);
    const pending = { name: 'read', hash: changes[0]?.hash ?? '' };
    expect(await store.decidePendingPin('approve', LIST, pending, 1000)).toBe(true);
    clock.ms += 3000;
    await expect(call('read')).resolves.toBeNull();
    expect(await list(backend.tools)).toEqual(['read']);
  });

  it('hides a rejected definition without another event, and accepts the approved one again', async () => {
    const { call, backend, catalogue, clock, changes } = setUp([tool('read')]);
    await call('read');
    const [before] = backend.tools;
    backend.tools = [tool('read', { description: 'worse' })];
    catalogue.changed();
    await expect(call('read')).rejects.toEqual(refusal);
    await store.decidePendingPin('reject', LIST, { name: 'read', hash: changes[0]?.hash ?? '' }, 1);
    catalogue.changed();
    clock.ms += 3000;
    await expect(call('read')).rejects.toEqual(refusal);
    expect(changes).toHaveLength(1);
    backend.tools = before === undefined ? [] : [before];
    catalogue.changed();
    await expect(call('read')).resolves.toBeNull();
  });

  it('approves everything where review is automatic, also what only the backend knows', async () => {
    const { call, list, backend, catalogue } = setUp([tool('read')], { review: 'auto' });
    await call('read');
    backend.tools = [tool('read', { description: 'other' }), tool('new')];
    catalogue.changed();
    await expect(call('read')).resolves.toBeNull();
    await expect(call('new')).resolves.toBeNull();
    await expect(call('of_a_session')).resolves.toBeNull();
    expect(await list([...backend.tools, tool('of_a_session')])).toEqual(['read', 'new', 'of_a_session']);
    await expect(call('delete_file')).rejects.toThrow();
  });

  it('refuses calls while the backend or the store cannot say which tools are approved', async () => {
    const { call, backend, clock } = setUp([tool('read')]);
    backend.fails = true;
    await expect(call('read')).rejects.toThrow('down');
    backend.fails = false;
    await expect(call('read')).resolves.toBeNull();
    await store.close();
    clock.ms += 3000;
    await expect(call('read')).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  });

  it('lists a backend once for many calls of a credential, and for few credentials at once', async () => {
    const { catalogue, backend, requestOf } = setUp([tool('read')]);
    const keys = Array.from({ length: 60 }, (_, index) => `key${index}`);
    expect(backend.lists).toBe(0);
    const reads = [...keys, ...keys, ...keys].map((key) => catalogue.tools(requestOf(`user of ${key}`), key));
    await Promise.all(reads);
    expect(backend).toMatchObject({ lists: 60, most: 8 });
  });

  it('reads the list of another user while those of all clients of one user hang', async () => {
    const { catalogue, backend, requestOf } = setUp([tool('read')]);
    const hangs = Promise.withResolvers<void>();
    backend.hangs.set('mallory', hangs.promise);
    const clients = Array.from({ length: 8 }, (_, index) => `client${index}`);
    const hanging = clients.map((key) => catalogue.tools(requestOf('mallory'), key));
    await vi.waitFor(() => expect(backend.lists).toBe(2));
    expect((await catalogue.tools(requestOf('alice'), 'alice')).has('read')).toBe(true);
    expect(backend.lists).toBe(3);
    hangs.resolve();
    await Promise.all(hanging);
    expect(backend).toMatchObject({ lists: 9, most: 3 });
  });

  it('caches a bounded number of lists of all backends', async () => {
    const [one, other] = ['one', 'other'].map((name) =>
      setUp([tool('read')], { review: 'auto', resource: `https://gateway.example/${name}` }),
    );
    const list = (of: typeof one, key: string) => of?.catalogue.tools(of.requestOf(key), key);
    await list(one, 'alice');
    await list(one, 'alice');
    expect(one?.backend.lists).toBe(1);
    await Promise.all(Array.from({ length: 8000 }, (_, index) => list(other, `user${index}`)));
    await list(one, 'alice');
    expect(one?.backend.lists).toBe(2);
  });

  it('caches no definitions of the lists that each owner has', async () => {
    const long = tool('read', { description: 'x'.repeat(200_000) });
    const { catalogue, requestOf } = setUp([long], { review: 'auto', process: 'user' });
    const list = (user: number) => catalogue.tools(requestOf(`user${user}`), '');
    await list(0);
    const before = usedHeap();
    for (let user = 1; user <= 100; user += 1) await list(user);
    expect(usedHeap() - before).toBeLessThan(5_000_000);
  });

  it.each([null, 'shared', 'user'] as const)(
    'reads a list for each user, so that a session that hangs delays no other user (process: %s)',
    async (process) => {
      const { call, catalogue, backend, clock } = setUp([tool('read')], { process });
      await call('read', 'bob');
      const hangs = Promise.withResolvers<void>();
      backend.hangs.set('mallory', hangs.promise);
      catalogue.changed();
      const hanging = call('read', 'mallory');
      await vi.waitFor(() => expect(backend.lists).toBe(2));
      for (const lists of [3, 4]) {
        const decided = call('read', 'bob');
        await vi.waitFor(() => expect(backend.lists).toBe(lists));
        await expect(decided).resolves.toBeNull();
        clock.ms += 60_000;
      }
      hangs.resolve();
      await hanging;
    },
  );

  it('reads a list that users share once for those who are queued, and renews it for one of them', async () => {
    const { catalogue, backend, clock, requestOf } = setUp([tool('read')]);
    const users = Array.from({ length: 60 }, (_, index) => `user${index}`);
    const reads = users.map((user) => {
      clock.ms += 1;
      return catalogue.tools(requestOf(user), '');
    });
    clock.ms += 1;
    await Promise.all(reads);
    expect(backend.lists).toBeLessThanOrEqual(16);
    const before = backend.lists;
    clock.ms += 50_000;
    for (const user of users) await catalogue.tools(requestOf(user), '');
    expect(backend.lists).toBe(before + 1);
  });

  it('refuses a definition that changed in the process of one user to that user alone', async () => {
    const { call, backend, catalogue } = setUp([tool('read')], { process: 'user' });
    await expect(call('read', 'alice')).resolves.toBeNull();
    backend.toolsOf.set('alice', [tool('read', { description: 'Reads the project red' })]);
    catalogue.changed();
    await expect(call('read', 'alice')).rejects.toEqual(refusal);
    await expect(call('read', 'bob')).resolves.toBeNull();
  });

  it('shares no list between credentials', async () => {
    const { catalogue, backend, requestOf } = setUp([tool('read')]);
    await catalogue.tools(requestOf(), 'one');
    backend.tools = [tool('read'), tool('admin')];
    expect([...(await catalogue.tools(requestOf(), 'other')).values()].map(({ state }) => state)).toEqual([
      'approved',
      'new',
    ]);
    expect([...(await catalogue.tools(requestOf(), 'one')).keys()]).toEqual(['read']);
  });
});
