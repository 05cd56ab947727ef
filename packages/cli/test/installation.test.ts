/** Commands beside a running server, in a folder that is not the server's. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { owner, type Portcullis, startPortcullis } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { type Postgres, startPostgres } from '../../../tests/support/postgres.ts';
import { runHere } from './support/in-process.ts';

/** An empty folder, where no server was started. */
function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-elsewhere-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const runFolder = ({ configHome }: Pick<Portcullis, 'configHome'>) =>
  join(configHome, 'portcullis', 'running');
const linkIn = (output: string) => output.trim().split('\n').at(-1) ?? '';

describe.each(['SQLite', 'PostgreSQL'] as const)('beside a running server on %s', (kind) => {
  let postgres: Postgres | undefined;
  let portcullis: PortcullisHere;
  beforeAll(async () => {
    if (kind === 'PostgreSQL') postgres = await startPostgres();
    portcullis = await startPortcullisHere(postgres && { database: await postgres.createDatabase() });
  });
  afterAll(async () => {
    await portcullis.stop();
    await postgres?.stop();
  });
  const run = (
    folder: string,
    words: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) => runHere(words, { folder, environment: { XDG_CONFIG_HOME: portcullis.configHome, ...environment } });

  it('`status` in another folder shows the server, and without one there is an exit code', async () => {
    const folder = createFolder();
    const { code, output } = await run(folder, ['status']);
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^${portcullis.url}\\n {2}state +ready\\n`)),
    ]);
    expect(JSON.parse((await run(folder, ['status', '--json'])).output)).toEqual([
      expect.objectContaining({ url: portcullis.url, isReady: true }),
    ]);
    expect(await run(folder, ['status'], { XDG_CONFIG_HOME: folder })).toMatchObject({
      code: 4,
      output: 'No server is running.\n',
    });
  });

  it('`users reset` in another folder finds the server, says so, and prints a link that works', async () => {
    const folder = createFolder();
    const { code, output, errors } = await run(folder, ['users', 'reset', owner.email]);
    expect(errors).toMatch(
      new RegExp(`^portcullis: using the running server ${portcullis.url} \\(database [^\\n]+\\)\\n$`),
    );
    expect([code, linkIn(output)]).toEqual([0, expect.stringContaining(`${portcullis.url}/reset?token=`)]);
    expect((await fetch(linkIn(output))).status).toBe(200);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    [['users', 'list'], owner.email],
    [['clients', 'list'], ''],
    [['clients', 'invite'], 'revoke-initial-access-token'],
    [['connections', 'list'], 'There are no connections'],
    [['keys', 'list'], 'signs from'],
    [['events', '--last', '1000'], 'account.created'],
    [['migrate', '--check'], 'up to date'],
  ])('`%j` in another folder works on the database of the server', async (words, expected) => {
    const folder = createFolder();
    const { code, output, errors } = await run(folder, words);
    expect([code, output, errors]).toEqual([
      0,
      expect.stringContaining(expected),
      expect.stringContaining('using the running server'),
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('JSON output stays JSON', async () => {
    const { output } = await run(createFolder(), ['users', 'add', 'json@example.com', '--json']);
    expect(JSON.parse(output)).toMatchObject({ link: expect.stringContaining(portcullis.url) });
  });

  it('a command that names the database gets the URL of the server for its links', async () => {
    const environment = { PORTCULLIS_DATABASE: portcullis.database };
    const { output, errors } = await run(createFolder(), ['users', 'reset', owner.email], environment);
    expect([linkIn(output), errors]).toEqual([
      expect.stringContaining(portcullis.url),
      expect.stringContaining('using the running server'),
    ]);
  });

  it('a command that names another database, port or URL does not use the running server', async () => {
    const others = [
      { PORTCULLIS_DATABASE: 'other.db' },
      { PORTCULLIS_PORT: '1' },
      { PORTCULLIS_PUBLIC_URL: 'https://auth.example.com' },
    ];
    for (const environment of others) {
      const folder = createFolder();
      const refused = await run(folder, ['users', 'add', 'eve@example.com'], environment);
      expect(refused).toMatchObject({
        code: 1,
        errors: expect.stringContaining('where there is no database'),
      });
      expect(readdirSync(folder)).toEqual([]);
    }
    expect((await run(createFolder(), ['users', 'list'])).output).not.toContain('eve@');
  });

  it('a folder with a database of its own is used, and the command says so', async () => {
    const folder = createFolder();
    mkdirSync(join(folder, 'data'));
    const database = join(folder, 'data', 'portcullis.db');
    await run(folder, ['migrate'], { PORTCULLIS_DATABASE: database });
    const { output, errors } = await run(folder, ['users', 'list']);
    expect([output, errors]).toEqual([
      'There are no accounts yet.\n',
      expect.stringContaining(
        `using the database ${database}, whose server is not running: name its URL for links with PORTCULLIS_PUBLIC_URL (--public-url); running: ${portcullis.url}`,
      ),
    ]);
  });

  it('a folder with a database of its own is used, and the command counts the servers that run', async () => {
    const folder = createFolder();
    const environment = { PORTCULLIS_DATABASE: join(folder, 'data', 'portcullis.db') };
    mkdirSync(join(folder, 'data'));
    await run(folder, ['migrate'], environment);
    const runs = runFolder(portcullis);
    const [name = ''] = readdirSync(runs);
    const content = JSON.parse(readFileSync(join(runs, name), 'utf8'));
    /** Another process of the server, or another server, beside it. @returns what the command says of them */
    async function beside(changes: object): Promise<string> {
      writeFileSync(join(runs, '1.json'), JSON.stringify({ ...content, ...changes }), { mode: 0o600 });
      const { errors } = await run(folder, ['users', 'list']);
      rmSync(join(runs, '1.json'));
      return errors;
    }
    expect((await beside({})).split(portcullis.url)).toHaveLength(2);
    expect(await beside({ url: 'http://other.example' })).toMatch(
      /; 2 servers are running, see portcullis status\n$/,
    );
  });

  it('the run file contains no secret and is readable by its user only', () => {
    const [name = ''] = readdirSync(runFolder(portcullis));
    const text = readFileSync(join(runFolder(portcullis), name), 'utf8');
    expect(statSync(runFolder(portcullis)).mode & 0o777).toBe(0o700);
    expect(statSync(join(runFolder(portcullis), name)).mode & 0o777).toBe(0o600);
    const { password } = new URL(kind === 'SQLite' ? 'file:///' : portcullis.database);
    if (password !== '') expect(text).not.toContain(password);
    expect(JSON.parse(text)).toMatchObject({
      url: portcullis.url,
      port: Number(new URL(portcullis.url).port),
    });
  });
});

describe('run files', () => {
  it('a stopped server leaves none, and that of a killed one is removed', async () => {
    const portcullis = await startPortcullis();
    const [first = ''] = readdirSync(runFolder(portcullis));
    await portcullis.restart(() => expect(existsSync(join(runFolder(portcullis), first))).toBe(false));
    const [second = ''] = readdirSync(runFolder(portcullis));
    await portcullis.restart(() => {}, 'SIGKILL');
    const folder = createFolder();
    const environment = { XDG_CONFIG_HOME: portcullis.configHome };
    expect((await runHere(['users', 'list'], { folder, environment })).output).toContain(owner.email);
    expect(readdirSync(runFolder(portcullis))).toEqual([expect.not.stringMatching(second)]);
    await portcullis.stop();
  });

  it('several servers: the command names them and changes nothing', async () => {
    const [one, other] = await Promise.all([startPortcullisHere(), startPortcullis()]);
    const [name = ''] = readdirSync(runFolder(other));
    writeFileSync(join(runFolder(one), name), readFileSync(join(runFolder(other), name)), { mode: 0o600 });
    const environment = { XDG_CONFIG_HOME: one.configHome };
    const refused = await runHere(['users', 'add', 'eve@example.com'], {
      folder: createFolder(),
      environment,
    });
    expect(refused).toMatchObject({ code: 1, output: '' });
    for (const text of [one.url, other.url, '--database']) expect(refused.errors).toContain(text);
    const named = { ...environment, PORTCULLIS_DATABASE: other.database };
    const { output } = await runHere(['users', 'list'], { folder: createFolder(), environment: named });
    expect(output).toContain(owner.email);
    expect(output).not.toContain('eve@');
    await Promise.all([one.stop(), other.stop()]);
  });

  it('a run file that others can write, or of a process that does not listen, is ignored', async () => {
    const portcullis = await startPortcullisHere();
    const [name = ''] = readdirSync(runFolder(portcullis));
    const file = join(runFolder(portcullis), name);
    const environment = { XDG_CONFIG_HOME: portcullis.configHome };
    const list = async () => (await runHere(['users', 'list'], { folder: createFolder(), environment })).code;
    expect(await list()).toBe(0);
    chmodSync(file, 0o666);
    expect(await list()).toBe(1);
    chmodSync(file, 0o600);
    const content = JSON.parse(readFileSync(file, 'utf8'));
    for (const broken of [{ ...content, port: 1 }, { ...content, database: 1 }, 'text']) {
      writeFileSync(file, JSON.stringify(broken));
      expect(await list()).toBe(1);
    }
    await portcullis.stop();
  });
});
