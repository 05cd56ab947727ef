/** Ownership of stored sessions: users, applications and several clients share a store and never use each other's session. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Client,
  type ClientOptions,
  type ClientSigningKey,
  type CredentialRecord,
  type CredentialStore,
  createMemoryStore,
  createWebStore,
  readSigningKey,
} from '../src/index.ts';
import { type FileStore, openFileStore } from '../src/node.ts';
import { codeOf, createWorld, refusal, type World } from './support/world.ts';

let folder: string;
const files: FileStore[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'belonging-'));
});

afterEach(() => {
  for (const file of files.splice(0)) file.close();
  rmSync(folder, { recursive: true, force: true });
});

function openFile(): FileStore {
  const file = openFileStore(join(folder, 'credentials.db'), { key: new Uint8Array(32) });
  files.push(file);
  return file;
}

function openWebStore(): CredentialStore {
  const items = new Map<string, string>();
  return createWebStore({
    storage: {
      get length() {
        return items.size;
      },
      key: (index) => [...items.keys()][index] ?? null,
      getItem: (name) => items.get(name) ?? null,
      setItem: (name, value) => void items.set(name, value),
      removeItem: (name) => void items.delete(name),
    },
  });
}

/** A custom store that ignores the actor of a key. */
function createStoreIgnoringActors(): CredentialStore {
  const records = new Map<string, CredentialRecord>();
  const nameOf = ({ server, issuer, account }: CredentialRecord['key']) =>
    JSON.stringify([server, issuer, account]);
  return {
    ...createMemoryStore(),
    find: async (key) => records.get(nameOf(key)) ?? null,
    list: async () => [...records.values()],
    save: async (record) => records.set(nameOf(record.key), record).size > 0,
    remove: async (key) => void records.delete(nameOf(key)),
  };
}

const stores: readonly (readonly [string, () => CredentialStore])[] = [
  ['memory', createMemoryStore],
  ["a browser's storage", openWebStore],
  ['a file', openFile],
];

/** An application of that name; `right` is the secret that the office takes. */
function asProgram(clientId = 'report', clientSecret = 'right'): Partial<ClientOptions> {
  return { grant: { kind: 'application' }, registration: { preregistered: [{ clientId, clientSecret }] } };
}

/** A world whose tokens tell by their scope who got them. */
async function createOffice(): Promise<World> {
  const world = await createWorld({ challengeScopes: 'notes' });
  world.as.on('POST /token', ({ form, headers }) => {
    const [clientId, secret] = atob(headers.get('authorization')?.replace('Basic ', '') ?? '').split(':');
    if (form.get('grant_type') === 'client_credentials') {
      if (secret !== 'right') return refusal('invalid_client', 401);
      const access_token = world.issue(`program ${clientId}`);
      return { body: { access_token, token_type: 'Bearer', expires_in: 600 } };
    }
    const refresh_token = `rt-${form.get('client_id')}`;
    return {
      body: { access_token: world.issue('user'), token_type: 'Bearer', expires_in: 600, refresh_token },
    };
  });
  return world;
}

/** Whom the server takes the client for. */
async function whoCalls(client: Client): Promise<string> {
  const answer = (await (await client.fetch(client.server)).json()) as { granted: string };
  return answer.granted;
}

const askedForTokens = ({ as }: World): number => as.asked('/token').length;

async function kept(store: CredentialStore, { serverUrl }: World): Promise<readonly CredentialRecord[]> {
  return store.list(serverUrl, 'default');
}

describe.each(stores)('in %s', (_name, openStore) => {
  it('T148 an application does not use the session of the user', async () => {
    const world = await createOffice();
    const store = openStore();
    await world.client({ store }).signIn();
    const [users] = await kept(store, world);
    expect(await whoCalls(world.client({ store, ...asProgram() }))).toBe('program report');
    expect(await kept(store, world)).toContainEqual(users);
    expect(await whoCalls(world.client({ store }))).toBe('user');
    expect(world.user.opened).toHaveLength(1);
  });

  it('T148 a user does not use the session of an application, and has to sign in', async () => {
    const world = await createOffice();
    const store = openStore();
    expect(await whoCalls(world.client({ store, ...asProgram() }))).toBe('program report');
    const [programs] = await kept(store, world);
    const user = world.client({ store });
    expect([await user.session(), await user.accessToken()]).toEqual([null, null]);
    expect(await whoCalls(user)).toBe('user');
    expect(world.user.opened).toHaveLength(1);
    expect(await kept(store, world)).toContainEqual(programs);
  });

  it('two applications obtain and keep separate tokens', async () => {
    const world = await createOffice();
    const store = openStore();
    for (const round of [1, 2]) {
      expect([round, await whoCalls(world.client({ store, ...asProgram('report') }))]).toEqual([
        round,
        'program report',
      ]);
      expect(await whoCalls(world.client({ store, ...asProgram('backup') }))).toBe('program backup');
    }
    expect(askedForTokens(world)).toBe(2);
  });

  it('authenticates again when the secret has changed, whatever is stored', async () => {
    const world = await createOffice();
    const store = openStore();
    await whoCalls(world.client({ store, ...asProgram() }));
    const before = await kept(store, world);
    const wrong = world.client({ store, ...asProgram('report', 'garbage') });
    expect(await wrong.session()).toBeNull();
    await expect(whoCalls(wrong)).rejects.toMatchObject({
      code: 'token_refused',
      oauthError: 'invalid_client',
    });
    expect(await kept(store, world)).toEqual(before);
    expect(await whoCalls(world.client({ store, ...asProgram() }))).toBe('program report');
    expect(askedForTokens(world)).toBe(2);
  });

  it.each([
    ['the user', {}, ['application']],
    ['the application', asProgram(), ['user']],
    ['the application, without its secret', asProgram('report', ''), ['user']],
  ])('signing out %s keeps the other session', async (_who, options, left) => {
    const world = await createOffice();
    const store = openStore();
    await world.client({ store }).signIn();
    await world.client({ store, ...asProgram() }).signIn();
    expect(await world.client({ store, ...options }).signOut()).toBe('forgotten');
    const remaining = (await kept(store, world)).filter(({ tokens }) => tokens !== null);
    expect(remaining.map(({ key }) => key.kind)).toEqual(left);
    expect(await world.client({ store, ...asProgram('backup') }).signOut()).toBe('no_session');
  });
});

it('does not use sessions of others in a store that ignores the owner of a session', async () => {
  const world = await createOffice();
  const store = createStoreIgnoringActors();
  await world.client({ store }).signIn();
  expect(await whoCalls(world.client({ store, ...asProgram() }))).toBe('program report');
  expect(await whoCalls(world.client({ store }))).toBe('user');
  expect(await whoCalls(world.client({ store, ...asProgram('backup') }))).toBe('program backup');
  expect(world.user.opened).toHaveLength(2);
});

describe('a session tells', () => {
  it('describes who a session acts for, its client and its start', async () => {
    const world = await createOffice();
    const start = Date.now();
    const store = createMemoryStore();
    const user = await world.client({ store, clock: () => start }).signIn();
    expect(user).toMatchObject({ kind: 'user', since: start });
    const program = await world.client({ store, ...asProgram(), clock: () => start + 5 }).signIn();
    expect(program).toMatchObject({ kind: 'application', clientId: 'report', since: start + 5 });
  });

  it('keeps the start of a session after a refresh', async () => {
    const world = await createOffice();
    const client = world.client();
    const { since } = await client.signIn();
    world.advance(590_000);
    await whoCalls(client);
    expect(askedForTokens(world)).toBe(2);
    expect((await client.session())?.since).toBe(since);
  });
});

it('an application does not wait for the sign-in of a user', async () => {
  const world = await createOffice();
  const store = createMemoryStore();
  world.user.divert(() => null);
  void world.client({ store }).signIn();
  await expect.poll(() => world.user.opened.length).toBe(1);
  expect(await whoCalls(world.client({ store, ...asProgram() }))).toBe('program report');
  expect(world.events.filter(({ type }) => type === 'sign_in.waiting')).toEqual([]);
});

it('uses the metadata document that the user configured, not another one', async () => {
  const world = await createWorld({ metadata: { client_id_metadata_document_supported: true } });
  const store = createMemoryStore();
  const known = (name: string) =>
    world.client({ store, registration: { metadataDocumentUrl: `https://app.example/${name}` } });
  await known('editor').signIn();
  expect(await known('editor').session()).toMatchObject({ clientId: 'https://app.example/editor' });
  expect(await known('viewer').session()).toBeNull();
  expect(await known('viewer').signIn()).toMatchObject({ clientId: 'https://app.example/viewer' });
});

describe('a user who names a client', () => {
  const named = (clientId: string): Partial<ClientOptions> => ({
    registration: { preregistered: [{ clientId }] },
  });

  it('signs in with the configured client, whichever client owns another session', async () => {
    const world = await createOffice();
    const store = createMemoryStore();
    await world.client({ store }).signIn();
    expect(await world.client({ store, ...named('editor') }).session()).toBeNull();
    const session = await world.client({ store, ...named('editor') }).signIn();
    expect(session).toMatchObject({ kind: 'user', clientId: 'editor' });
    expect(await world.client({ store, ...named('editor') }).session()).toMatchObject({ clientId: 'editor' });
    expect(await world.client({ store, ...named('viewer') }).session()).toBeNull();
    // Who names none goes on with the session that there is.
    expect(await world.client({ store }).session()).toMatchObject({ clientId: 'editor' });
  });

  it('does not use a session that another client obtained in the meantime', async () => {
    const world = await createOffice();
    const store = createMemoryStore();
    const editor = world.client({ store, ...named('editor') });
    await editor.signIn();
    await world.client({ store, ...named('viewer') }).signIn();
    world.advance(590_000);
    await whoCalls(editor);
    expect(await editor.session()).toMatchObject({ clientId: 'editor' });
    expect(world.user.opened).toHaveLength(3);
  });
});

it('an application that authenticates with a key keeps its tokens as long as the key is the same', async () => {
  const world = await createWorld();
  const store = createMemoryStore();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const robot = (signingKey: ClientSigningKey) =>
    world.client({
      store,
      grant: { kind: 'application' },
      registration: { preregistered: [{ clientId: 'robot', signingKey }] },
    });
  const key = await readSigningKey(pem, 'ES256');
  for (const client of [robot(key), robot(key)]) await client.fetch(world.serverUrl);
  expect(askedForTokens(world)).toBe(1);
  await robot(await readSigningKey(pem, 'ES256')).fetch(world.serverUrl);
  expect(askedForTokens(world)).toBe(2);
});

it('an application that moves to another authorization server keeps the tokens of the user', async () => {
  const world = await createOffice();
  const store = createMemoryStore();
  await world.client({ store }).signIn();
  const [users] = await kept(store, world);
  if (users === undefined) throw new TypeError('The session was kept.');
  const elsewhere = { ...users, key: { ...users.key, issuer: 'https://before.example' } };
  await store.save(elsewhere);
  await world.client({ store, ...asProgram() }).signIn();
  expect(await kept(store, world)).toContainEqual(elsewhere);
  // A user's own sign-in does forget them.
  await world.client({ store }).signIn();
  expect(await kept(store, world)).toContainEqual({ ...elsewhere, tokens: null });
});

it('begin and complete never store the session of an application', async () => {
  const world = await createOffice();
  const store = createMemoryStore();
  const redirectUri = 'https://app.example/callback';
  const begun = await world.client({ store }).begin({ redirectUri });
  const location = (await fetch(begun, { redirect: 'manual' })).headers.get('location') ?? '';
  const before = await kept(store, world);
  const program = world.client({ store, ...asProgram() });
  expect(await codeOf(program.complete(location))).toBe('configuration_invalid');
  expect(await kept(store, world)).toEqual(before);
  expect(await world.client({ store }).complete(location)).toMatchObject({ kind: 'user' });
});
