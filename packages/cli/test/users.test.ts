/** `portcullis users` beside a running server on the same database. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@portcullis/store';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { owner } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { runHere } from './support/in-process.ts';

const run = (words: readonly string[], environment: Readonly<Record<string, string>>) =>
  runHere(['users', ...words], { environment, folder: tmpdir() });

describe('portcullis users', () => {
  let portcullis: PortcullisHere;
  const users = (...args: readonly string[]) =>
    run(args, { PORTCULLIS_DATABASE: portcullis.database, PORTCULLIS_PUBLIC_URL: portcullis.url });
  beforeAll(async () => {
    portcullis = await startPortcullisHere();
  });
  afterAll(() => portcullis.stop());

  it('`users add` creates an account whose owner chooses a password with the printed link', async () => {
    const { code, output, errors } = await users('add', 'bob@example.com');
    expect([code, errors]).toEqual([0, '']);
    const link = output.trim().split('\n').at(-1) ?? '';
    expect(link).toMatch(new RegExp(`^${portcullis.url}/invitation\\?token=[\\w-]{43}$`));
    const page = await fetch(link);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('bob@example.com')]);
    const response = await fetch(`${portcullis.url}/invitation`, {
      method: 'POST',
      body: new URLSearchParams({
        token: link.split('=')[1] ?? '',
        password: 'a bridge of rope',
        password_again: 'a bridge of rope',
      }),
      redirect: 'manual',
    });
    expect([response.status, response.headers.get('location')]).toEqual([303, '/setup']);
    expect((await fetch(link)).status).toBe(403);
  });

  it('`users add` sets name, groups and role of the new account, and refuses an unknown role before it creates one', async () => {
    const flags = ['--name', 'Gia', '--groups', 'leads, makers', '--role'];
    expect(await users('add', 'gia@example.com', ...flags, 'owner')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('The role must be operator or viewer'),
    });
    expect((await users('list')).output).not.toContain('gia@');
    expect(await users('add', 'gia@example.com', ...flags, 'viewer')).toMatchObject({ code: 0, errors: '' });
    expect(JSON.parse((await users('show', 'gia@example.com', '--json')).output)).toMatchObject({
      role: 'viewer',
    });
    const environment = { PORTCULLIS_DATABASE: portcullis.database };
    const last = await runHere(['events', '--json', '--last', '1'], { environment, folder: tmpdir() });
    expect(JSON.parse(last.output)).toMatchObject({
      type: 'account.profile_changed',
      groups: ['leads', 'makers'],
    });
  });

  it('`users add` and `users describe` refuse groups that a user cannot have, before they change anything', async () => {
    const refused = { code: 1, errors: expect.stringContaining('A user has at most 100 groups') };
    expect(await users('add', 'ivy@example.com', '--groups', 'ok, a  b')).toMatchObject(refused);
    expect((await users('list')).output).not.toContain('ivy@');
    expect(await users('describe', owner.email, '--name', 'Eve', '--groups', 'ok, a  b')).toMatchObject(
      refused,
    );
    const claims = async () => {
      const store = await openStore(portcullis.database);
      const profile = await store.findProfile((await store.findAccountByEmail(owner.email))?.id ?? '');
      await store.close();
      return profile;
    };
    expect(await claims()).toBeNull();
    expect((await users('describe', owner.email, '--groups', 'ok, a b')).code).toBe(0);
    expect((await claims())?.groups).toEqual(['ok', 'a b']);
    expect((await users('describe', owner.email, '--groups', '')).code).toBe(0);
  });

  it('`users add` says that no account is an operator, where the setting admin needs one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-'));
    const here = { environment: { PORTCULLIS_CONFIG: 'portcullis.json' }, folder };
    const configure = (admin: object) =>
      writeFileSync(
        join(folder, 'portcullis.json'),
        JSON.stringify({ ...admin, database: 'portcullis.db', publicUrl: 'https://auth.example.com' }),
      );
    const add = async (name: string, ...more: readonly string[]) =>
      (await runHere(['users', 'add', `${name}@example.com`, ...more], here)).output;
    const advice = 'No account administers this server yet';
    configure({ admin: {} });
    await runHere(['migrate'], here);
    expect(await add('one')).toContain(
      `${advice}: npm run -s portcullis -- users role one@example.com operator`,
    );
    configure({});
    expect(await add('two')).not.toContain(advice);
    configure({ admin: { operators: { groups: ['platform'] } } });
    expect(await add('three')).not.toContain(advice);
    configure({ admin: {} });
    expect(await add('four', '--role', 'operator')).not.toContain(advice);
    rmSync(folder, { recursive: true });
  });

  it('`users show` shows an account, and an unknown one is an error', async () => {
    const { code, output } = await users('show', owner.email);
    expect(code).toBe(0);
    expect(output).toMatch(
      /^ada@example\.com\n {2}account {2}user_\S+\n {2}created [^\n]+\n {2}state {4}enabled\n/,
    );
    expect(JSON.parse((await users('show', owner.email, '--json')).output)).toMatchObject({
      email: owner.email,
      disabledAt: null,
      connections: 0,
      lastUsedAt: null,
    });
    expect(await users('show', 'unknown@example.com')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('There is no account for unknown@example.com'),
    });
  });

  it('`users list`, `disable`, `enable` and `reset` work beside a running server', async () => {
    const today = /^\d{4}-\d\d-\d\d {2}enabled {3}ada@example.com {2}operator$/m;
    expect((await users('list')).output).toMatch(today);
    expect(await users('disable', owner.email)).toMatchObject({
      code: 0,
      output: expect.stringMatching(
        /its sessions and all access it granted have ended\.\nRemote servers whose guard only verifies signatures .+ \(within 10 minutes/,
      ),
      errors: '',
    });
    expect((await users('list')).output).toMatch(/ {2}disabled {2}ada@example.com {2}operator$/m);
    expect(await users('reset', owner.email)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('is disabled: enable it first'),
    });
    expect(await users('enable', owner.email)).toMatchObject({
      code: 0,
      output: expect.stringContaining('can sign in again'),
    });
    const { output } = await users('reset', owner.email);
    expect((await fetch(output.trim().split('\n').at(-1) ?? '')).status).toBe(200);
  });

  it('`users describe` sets the name and groups of an account, for servers that ask for them', async () => {
    expect(
      await users('describe', owner.email, '--name', 'Ada Lovelace', '--groups', 'engineers, admins'),
    ).toEqual({
      code: 0,
      output: `The account of ${owner.email} is updated.\n`,
      errors: '',
    });
    expect(await users('describe', owner.email)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('Add --name, --groups or both'),
    });
    expect(await users('describe', owner.email, '--groups', 'engineers', '--now')).toMatchObject({
      code: 0,
      output: `The account of ${owner.email} is updated; if it lost a group, its connections have ended.\n`,
    });
    expect(await users('describe', 'unknown@example.com', '--name', 'x')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('There is no account for unknown@example.com'),
    });
  });

  describe('users of an identity provider', () => {
    const address = 'grace@example.org';
    const ids = ['user_grace1', 'user_grace2', 'user_grace3'];
    const link = async (count: number) => {
      const store = await openStore(portcullis.database);
      try {
        for (const id of ids.slice(0, count)) {
          const account = {
            ...{ id, email: 'Grace (Google)', emailKey: `federated:${id}`, passwordHash: '$argon2id$' },
            ...{ createdAt: 1_700_000_000, disabledAt: null, role: null },
          };
          await store.linkIdentity(
            { issuer: 'https://accounts.google.com', subject: id, accountId: id },
            account,
          );
          await store.saveProfile(id, { email: 'Grace@example.org', name: null, groups: [] });
        }
      } finally {
        await store.close();
      }
    };
    const on = (...words: readonly string[]) =>
      runHere(words, {
        environment: { PORTCULLIS_DATABASE: portcullis.database, PORTCULLIS_PUBLIC_URL: portcullis.url },
        folder: tmpdir(),
      });

    it('are named by the address that it verified', async () => {
      expect(await on('users', 'disable', address)).toMatchObject({
        code: 1,
        errors: expect.stringContaining(`There is no account for ${address}`),
      });
      await link(1);
      expect(await on('users', 'disable', address)).toMatchObject({ code: 0, errors: '' });
      const found = await on('events', '--user', 'GRACE@example.org', '--type', 'account.disabled');
      expect([found.code, found.output.trim().split('\n')]).toEqual([
        0,
        [expect.stringContaining('user_grace1')],
      ]);
      expect(await on('connections', 'list', address)).toMatchObject({
        code: 0,
        output: 'There are no connections.\n',
      });
      expect(await on('users', 'enable', address)).toMatchObject({ code: 0, errors: '' });
    });

    it('are listed where several have the address, and none is changed', async () => {
      await link(2);
      for (const words of [
        ['users', 'disable'],
        ['users', 'remove'],
        ['connections', 'list'],
        ['events', '--user'],
      ]) {
        const { code, errors } = await on(...words, address);
        expect([words, code]).toEqual([words, 1]);
        expect(errors).toContain(
          `Several accounts have the address ${address}. Name one by its ID: user_grace1 (Grace (Google)), user_grace2`,
        );
      }
      const { output } = await on('users', 'list', '--json');
      const accounts: readonly { readonly id: string; readonly disabledAt: string | null }[] =
        JSON.parse(output);
      expect(accounts.filter(({ id }) => ids.includes(id)).map(({ disabledAt }) => disabledAt)).toEqual([
        null,
        null,
      ]);
      expect(await on('users', 'disable', 'user_grace2')).toMatchObject({ code: 0, errors: '' });
    });
  });

  it('`users --json` prints JSON', async () => {
    const added = JSON.parse((await users('add', 'dora@example.com', '--json')).output);
    expect(added).toEqual({
      link: expect.stringMatching(/\/invitation\?token=[\w-]{43}$/),
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    const all: { email: string }[] = JSON.parse((await users('list', '--json')).output);
    expect(all.find(({ email }) => email === 'dora@example.com')).toEqual({
      id: expect.stringMatching(/^user_/),
      email: 'dora@example.com',
      createdAt: expect.any(String),
      disabledAt: null,
      role: null,
    });
    expect(JSON.parse((await users('reset', 'dora@example.com', '--json')).output)).toMatchObject({
      link: expect.stringContaining('/reset?token='),
    });
  });

  it('every change by `users` is recorded in the audit log', async () => {
    await users('add', 'carol@example.com');
    await users('reset', 'carol@example.com');
    await users('disable', 'carol@example.com');
    await users('enable', 'carol@example.com');
    const environment = { PORTCULLIS_DATABASE: portcullis.database };
    const { output } = await runHere(['events', '--json', '--last', '4'], { environment, folder: tmpdir() });
    const events = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ type }) => type)).toEqual([
      'account.created',
      'account.reset_link_created',
      'account.disabled',
      'account.enabled',
    ]);
    expect(new Set(events.map(({ accountId }) => accountId)).size).toBe(1);
  });

  it('`users remove` removes an account and frees its email address', async () => {
    await users('add', 'finn@example.com');
    expect(await users('remove', 'finn@example.com')).toMatchObject({
      code: 0,
      output: expect.stringMatching(
        /^The account of finn@example.com is removed; all access it granted has ended\.\nRemote servers /,
      ),
    });
    expect((await users('list')).output).not.toContain('finn@');
    expect(await users('remove', 'finn@example.com')).toMatchObject({ code: 1, output: '' });
    expect((await users('add', 'finn@example.com')).code).toBe(0);
    await users('remove', 'finn@example.com');
  });

  it('`users` rejects invalid arguments with one line and changes nothing', async () => {
    const refusals: readonly (readonly [readonly string[], string])[] = [
      [
        ['add', 'ada@example.com'],
        'There is already an account for ada@example.com. For another link, run npm run -s portcullis -- users reset ada@example.com',
      ],
      [
        ['add', 'ada@example.com', '--role', 'operator'],
        'There is already an account for ada@example.com. For another role, run npm run -s portcullis -- users role ada@example.com operator',
      ],
      [['add', 'ada'], 'must be an address'],
      [['disable', 'eve@example.com'], 'There is no account for eve@example.com'],
      [['remove', 'eve@example.com'], 'There is no account for eve@example.com'],
      [['reset', 'eve@example.com'], 'There is no account for eve@example.com'],
      [['add', 'eve@example.com', '--database', ':memory:'], 'PORTCULLIS_DATABASE (--database) is :memory:'],
    ];
    const before = await users('list');
    for (const [args, words] of refusals) {
      const { code, output, errors } = await users(...args);
      expect([code, output, errors.trim().split('\n')]).toEqual([1, '', [expect.stringContaining(words)]]);
    }
    expect(await users('list')).toEqual(before);
  });

  it('`users add` and `users reset` make no link to a password where there are no local accounts', async () => {
    const before = await users('list');
    const environment = {
      ...{ PORTCULLIS_DATABASE: portcullis.database, PORTCULLIS_PUBLIC_URL: portcullis.url },
      PORTCULLIS_LOCAL_ACCOUNTS: 'false',
    };
    for (const words of [
      ['add', 'eve@example.com'],
      ['reset', owner.email],
    ]) {
      const { code, output, errors } = await run(words, environment);
      expect([code, output, errors]).toEqual([1, '', expect.stringContaining('localAccounts is false')]);
    }
    expect(await users('list')).toEqual(before);
  });

  it('`users add` creates no database, and requires a public URL when the port is unknown', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-'));
    const environment = { PORTCULLIS_DATABASE: join(folder, 'portcullis.db') };
    for (const words of [['list'], ['add', 'ada@example.com']]) {
      expect(await run(words, environment)).toEqual({
        code: 1,
        output: '',
        errors: expect.stringContaining('where there is no database: start the server first'),
      });
    }
    expect(readdirSync(folder)).toEqual([]);
    expect((await runHere(['migrate'], { environment, folder })).code).toBe(0);
    expect((await run(['add', 'ada@example.com'], environment)).output).toContain(
      'http://localhost:8484/invitation?token=',
    );
    const { code, errors } = await run(['reset', 'ada@example.com', '--port', '0'], environment);
    expect([code, errors]).toEqual([
      1,
      expect.stringContaining('PORTCULLIS_PUBLIC_URL (--public-url) must be set'),
    ]);
    rmSync(folder, { recursive: true });
  });
});
