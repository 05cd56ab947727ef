/** `portcullis clients` beside a running server on the same database. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { runHere } from './support/in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-clients-'));
afterAll(() => rmSync(folder, { recursive: true }));

const configured = {
  client_id: 'configured',
  client_name: 'Configured',
  client_secret: 'in-the-file-0123456789abcdef',
  grant_types: ['client_credentials'],
};

let portcullis: PortcullisHere;
beforeAll(async () => {
  portcullis = await startPortcullisHere({ clients: [configured] });
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ clients: [configured] }));
  await clients('add', '--id', 'taken', '--redirect-uri', 'https://taken.example/');
});
afterAll(() => portcullis.stop());

const run = (words: readonly string[], input?: string) =>
  runHere(words, {
    environment: {
      PORTCULLIS_DATABASE: portcullis.database,
      PORTCULLIS_PUBLIC_URL: portcullis.url,
      PORTCULLIS_CONFIG: 'config.json',
    },
    folder,
    input,
  });

const clients = (...args: readonly string[]) => run(['clients', ...args]);

/** Requests a token as a client. @returns the status, and the error if there is one */
async function ask(id: string, secret: string): Promise<readonly unknown[]> {
  const response = await fetch(`${portcullis.url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: token, error } = (await response.json()) as Record<string, unknown>;
  return [response.status, error ?? typeof token];
}

const BASIC = ['--method', 'client_secret_basic'];
const MACHINE = ['--grant', 'client_credentials', ...BASIC, '--scope', 'notes:read'];

describe('clients add', () => {
  it('`clients add` adds a client that works immediately and shows its secret once', async () => {
    const { code, output, errors } = await clients(
      'add',
      '--id',
      'robot',
      '--client-name',
      'Robot',
      ...MACHINE,
    );
    expect([code, errors]).toEqual([0, '']);
    const [first, , secret = ''] = output.split('\n');
    expect(first).toBe('The client robot can be used now.');
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(await ask('robot', secret)).toEqual([200, 'string']);
    expect(await ask('robot', `${secret}x`)).toEqual([401, 'invalid_client']);
    expect((await clients('show', 'robot', '--json')).output).not.toContain(secret);
  });

  it('`clients add --secret-file` writes the secret to a new private file and never overwrites one', async () => {
    const added = await clients('add', '--id', 'kept', ...MACHINE, '--secret-file', 'kept.secret');
    expect(added).toEqual({
      code: 0,
      output: 'The client kept can be used now.\nIts secret is in kept.secret.\n',
      errors: '',
    });
    const file = join(folder, 'kept.secret');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const secret = readFileSync(file, 'utf8');
    expect(await ask('kept', secret.trim())).toEqual([200, 'string']);

    const again = await clients('add', '--id', 'another', ...MACHINE, '--secret-file', 'kept.secret');
    expect([again.code, again.output]).toEqual([1, '']);
    expect(again.errors).toMatch(
      /^portcullis: --secret-file is kept\.secret, which cannot be created: EEXIST/,
    );
    expect(readFileSync(file, 'utf8')).toBe(secret);
    expect((await clients('show', 'another')).code).toBe(1);
  });

  it('`clients add --grant none` adds a client that gets no token', async () => {
    const { code, output, errors } = await clients('add', '--id', 'guard', '--grant', 'none', ...BASIC);
    expect([code, errors]).toEqual([0, '']);
    expect(await ask('guard', output.split('\n')[2] ?? '')).toEqual([400, 'unauthorized_client']);
    const open = await clients('add', '--id', 'open', '--grant', 'none');
    expect([open.code, open.errors]).toEqual([
      1,
      'portcullis: --method: a client without grant types must authenticate\n',
    ]);
    const both = await clients('add', '--id', 'both', '--grant', 'none', ...MACHINE);
    expect([both.code, both.errors]).toEqual([1, 'portcullis: --grant none goes with no other --grant\n']);
    for (const id of ['open', 'both']) expect((await clients('show', id)).code).toBe(1);
  });

  it('`clients add` warns if an application registers no scope', async () => {
    const added = await clients('add', '--id', 'scopeless', '--grant', 'client_credentials', ...BASIC);
    expect([added.code, added.errors]).toEqual([
      0,
      'portcullis: The client registered no scope, so its own tokens have none: name scopes with --scope\n',
    ]);
  });

  it('`clients add` reads metadata from a file or standard input, and flags override it', async () => {
    const metadata = { client_name: 'App', redirect_uris: ['https://app.example/cb'] };
    writeFileSync(join(folder, 'app.json'), JSON.stringify(metadata));
    const fromFile = await clients('add', '--metadata', 'app.json', '--id', 'app', '--json');
    expect(JSON.parse(fromFile.output)).toMatchObject({ ...metadata, client_id: 'app' });
    const fromPipe = await run(
      ['clients', 'add', '--metadata', '-', '--client-name', 'Other', '--json'],
      JSON.stringify(metadata),
    );
    expect(JSON.parse(fromPipe.output)).toMatchObject({
      client_name: 'Other',
      client_id: expect.stringMatching(/^client_/),
      token_endpoint_auth_method: 'none',
    });
  });

  it.each([
    [['--redirect-uri', 'javascript:alert(1)'], /^portcullis: --redirect-uri: must not use the scheme javascript/],
    [['--redirect-uri', 'https://a.example/', '--redirect-uri', 'javascript:alert(1)'], /^portcullis: --redirect-uri javascript:alert\(1\): must not use/],
    [['--method', 'client_secret_basci', '--grant', 'client_credentials'], /^portcullis: option '--method <name>' argument 'client_secret_basci' is invalid\. Did you mean client_secret_basic\?$/],
    [['--grant', 'client_credential'], /^portcullis: option '--grant <type>' argument 'client_credential' is invalid\. Did you mean client_credentials\?$/],
    [['--grant', 'password'], /is invalid\. Expected one of authorization_code, refresh_token, client_credentials, urn:/],
    [['--key-file', 'data/portcullis.key'], /^portcullis: --key-file is a setting that this command does not use: remove it$/],
    [['--kay-file', 'data/portcullis.key'], /^portcullis: unknown option '--kay-file'/],
    [['--grant', 'client_credentials'], /^portcullis: --method: client_credentials needs a confidential client/],
    [['--id', 'user_1', '--redirect-uri', 'https://a.example/'], /must not start with user_/],
    [['--id', 'taken', '--redirect-uri', 'https://a.example/'], /already in use by another client/],
    [['--id', 'configured', '--redirect-uri', 'https://a.example/'], /already in use by another client/],
    [['--metadata', 'nowhere.json'], /^portcullis: --metadata cannot be read: ENOENT.*nowhere\.json/],
    [['--metadata', 'kept.secret'], /^portcullis: --metadata names kept\.secret, which is not a JSON object$/],
    [['--database', ':memory:'], /PORTCULLIS_DATABASE \(--database\) is :memory:/],
  ])('`clients add` rejects %j with one line and adds no client', async (args, says) => {
    const before = (await clients('list')).output;
    const { code, output, errors } = await clients('add', ...args);
    expect([code, output, errors.trim().split('\n').length]).toEqual([1, '', 1]);
    expect(errors.trim()).toMatch(says);
    expect((await clients('list')).output).toBe(before);
  }); // biome-ignore format: a table
});

describe('scopes of an added client', () => {
  const add = (id: string, scope: string, ...more: readonly string[]) =>
    clients('add', '--id', id, ...MACHINE, '--scope', scope, ...more);

  it('`clients add` warns about a scope that the running server does not define', async () => {
    expect(await add('reader', 'notes:read')).toMatchObject({ code: 0, errors: '' });
    const { code, output, errors } = await add('raeder', 'notes:raed notes:write');
    expect([code, output]).toEqual([0, expect.stringMatching(/^The client raeder can be used now\./)]);
    expect(errors).toBe(
      'portcullis: No protected server has the scope notes:raed: did you mean notes:read?\n',
    );
  });

  it('`clients add` checks scopes against a configuration that lists all servers, and skips the check without either', async () => {
    const greeter = {
      resource: 'http://localhost:3000/mcp',
      name: 'Greeter',
      scopes: { greet: 'Greet you' },
    };
    writeFileSync(join(folder, 'resources.json'), JSON.stringify({ resources: [greeter] }));
    const of = ['--config', 'resources.json'];
    expect((await add('greeter', 'greet', ...of)).errors).toBe('');
    expect((await add('sender', 'mail', ...of)).errors).toMatch(
      /has the scope mail: known scopes are greet\n$/,
    );
    const nowhere = ['--public-url', 'http://localhost:1'];
    expect(await add('unknown', 'mail', ...nowhere)).toMatchObject({ code: 0, errors: '' });
  });
});

describe('initial access tokens', () => {
  it('[AS-DCR-67] initial access tokens are created, listed, accepted once where required, and revoked', async () => {
    const closed = await startPortcullisHere({ registration: { requireInitialAccessToken: true } });
    const location = ['--database', closed.database];
    const invite = async (...more: readonly string[]): Promise<{ id: string; token: string }> =>
      JSON.parse((await clients('invite', '--json', ...more, ...location)).output);
    const { code, output, errors } = await clients('invite', '--days', '3', ...location);
    expect([code, errors]).toEqual([0, '']);
    const first = output.trim().split('\n').at(-1) ?? '';
    const id = /revoke-initial-access-token (invite_\S+)/.exec(output)?.[1] ?? '';
    const second = await invite('--note', 'for Bob\u202e');
    const register = async (token: string) => {
      const response = await fetch(`${closed.url}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({
          redirect_uris: ['https://app.example/cb'],
          token_endpoint_auth_method: 'none',
        }),
      });
      return { status: response.status, id: JSON.parse(await response.text()).client_id };
    };
    expect((await register('nothing')).status).toBe(401);
    const registered = await register(first);
    expect([registered.status, (await register(first)).status]).toEqual([201, 401]);

    const { output: listed } = await clients('initial-access-tokens', ...location);
    expect(listed.trimEnd().split('\n')).toHaveLength(2);
    const day = String.raw`until \d{4}-\d\d-\d\d`;
    expect(listed).toMatch(new RegExp(`^${id}  ${day}  used by ${registered.id}$`, 'm'));
    expect(listed).toMatch(new RegExp(`^${second.id}  ${day}  not used +for Bob$`, 'm'));
    const asJson = (await clients('initial-access-tokens', '--json', ...location)).output;
    const clientOf = new Map(
      JSON.parse(asJson).map((one: Record<string, unknown>) => [one['id'], one['clientId']]),
    );
    expect(clientOf).toEqual(
      new Map([
        [id, registered.id],
        [second.id, null],
      ]),
    );
    for (const token of [first, second.token]) expect(listed + asJson).not.toContain(token);

    expect((await clients('revoke-initial-access-token', second.id, ...location)).code).toBe(0);
    expect((await register(second.token)).status).toBe(401);
    const third = await invite();
    expect((await register(third.token)).status).toBe(201);
    for (const [which, says] of [
      [second.id, /There is no initial access token/],
      [id, /has been used/],
    ] as const) {
      const refused = await clients('revoke-initial-access-token', which, ...location);
      expect([refused.code, refused.output]).toEqual([1, '']);
      expect(refused.errors).toMatch(says);
    }
    const events = (await run(['events', '--database', closed.database])).output;
    for (const type of ['initial_access_token.created', 'initial_access_token.revoked'])
      expect(events).toContain(type);
    for (const invalid of [
      ['--days', '0'],
      ['--note', 'x'.repeat(201)],
    ]) {
      const wrong = await clients('invite', ...invalid, ...location);
      expect([wrong.code, wrong.output]).toEqual([1, '']);
    }
    await closed.stop();
  });

  it('an initial access token may be created before the first start, in a migrated database', async () => {
    const location = ['--database', join(folder, 'before.db')];
    expect((await clients('initial-access-tokens', ...location)).code).toBe(1);
    expect((await clients('invite', ...location)).code).toBe(1);
    expect((await runHere(['migrate', ...location], { environment: {}, folder })).code).toBe(0);
    expect((await clients('invite', ...location)).code).toBe(0);
    const only = JSON.parse((await clients('initial-access-tokens', '--json', ...location)).output);
    expect((await clients('revoke-initial-access-token', only[0].id, ...location)).code).toBe(0);
    expect((await clients('initial-access-tokens', ...location)).output).toMatch(
      /^There are no initial access tokens/,
    );
  });
});

describe('the other subcommands', () => {
  it('`clients list` and `show` cover registered, added and configured clients', async () => {
    const added = await clients('add', '--id', 'listed', '--client-name', 'Listed', ...MACHINE, '--json');
    await ask('listed', String(JSON.parse(added.output).client_secret));
    const { output } = await clients('list');
    expect(output).toMatch(/^enabled +configured +(?:never used|used \S+) +configured +Configured$/m);
    expect(output).toMatch(/^enabled +administered +used \d{4}-\d\d-\d\d +listed +Listed$/m);
    const all: { id: string }[] = JSON.parse((await clients('list', '--json')).output);
    expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining(['configured', 'listed']));
    expect(JSON.stringify(all)).not.toContain(configured.client_secret);
    expect(JSON.parse((await clients('show', 'listed', '--json')).output)).toMatchObject({
      id: 'listed',
      origin: 'administered',
      state: 'enabled',
      expiresAt: null,
      metadata: { client_name: 'Listed', grant_types: ['client_credentials'] },
    });
    expect((await clients('show', 'configured')).output).toMatch(/^origin +configured$/m);
  });

  it('T095 a disabled client can do nothing, and its revoked tokens stay revoked when it is enabled', async () => {
    const added = await clients('add', '--id', 'short-lived', ...MACHINE, '--json');
    const secret = String(JSON.parse(added.output).client_secret);
    expect(await ask('short-lived', secret)).toEqual([200, 'string']);
    expect(await clients('disable', 'short-lived')).toMatchObject({
      code: 0,
      output: expect.stringMatching(
        /^The client short-lived is disabled; all its tokens and grants are revoked\.\nRemote servers /,
      ),
    });
    expect(await ask('short-lived', secret)).toEqual([401, 'invalid_client']);
    expect((await clients('list')).output).toMatch(/^disabled +administered .* short-lived/m);
    expect(await clients('enable', 'short-lived')).toMatchObject({ code: 0 });
    expect(await ask('short-lived', secret)).toEqual([200, 'string']);
    expect(await clients('remove', 'short-lived')).toMatchObject({ code: 0 });
    expect(await ask('short-lived', secret)).toEqual([401, 'invalid_client']);
    const events = (await run(['events', '--last', '100'])).output;
    for (const type of ['added', 'disabled', 'enabled', 'removed']) {
      expect(events).toMatch(new RegExp(`client\\.${type} clientId=short-lived`));
    }
  });

  it('`clients verify` and `unverify` mark a client that registered itself, and reject one that was added', async () => {
    const response = await fetch(`${portcullis.url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://app.example/cb'], token_endpoint_auth_method: 'none' }),
    });
    const { client_id: id } = (await response.json()) as { readonly client_id: string };
    const shown = async () => JSON.parse((await clients('show', id, '--json')).output) as object;
    expect(await clients('verify', id)).toMatchObject({ code: 0 });
    expect(await shown()).toMatchObject({ verifiedAt: expect.any(String) });
    expect((await clients('list')).output).toContain('registered, verified');
    expect(await clients('unverify', id)).toMatchObject({ code: 0 });
    expect(await shown()).toMatchObject({ verifiedAt: null });
    for (const verb of ['verify', 'unverify']) {
      const refused = await clients(verb, 'taken');
      expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining('needs no verification')]);
    }
    expect(JSON.parse((await clients('show', 'taken', '--json')).output)).toMatchObject({ verifiedAt: null });
  });

  it('`clients update` changes what is given on a running server, and nothing else', async () => {
    const secret = (
      await clients('add', '--id', 'changing', '--client-name', 'One', ...MACHINE)
    ).output.split('\n')[2];
    const shown = async () => JSON.parse((await clients('show', 'changing', '--json')).output);
    const before = await shown();
    const updated = await clients('update', 'changing', '--client-name', 'Two', '--scope', 'notes:write');
    expect(updated).toEqual({ code: 0, output: 'The client changing is updated.\n', errors: '' });
    expect(await shown()).toEqual({
      ...before,
      metadata: { ...before.metadata, client_name: 'Two', scope: 'notes:write' },
    });
    expect(await ask('changing', secret ?? '')).toEqual([200, 'string']);
    await clients('update', 'changing', '--grant', 'none');
    expect(await ask('changing', secret ?? '')).toEqual([400, 'unauthorized_client']);
    expect((await run(['clients', 'update', 'changing', '--metadata', '-'], '{"scope":null}')).code).toBe(0);
    expect((await shown()).metadata).not.toHaveProperty('scope');
    expect((await run(['events', '--last', '20'])).output).toContain('client.changed clientId=changing');
  });

  it.each([
    ['no change', [], 'Name at least one change, such as --client-name'],
    ['a script as redirect URI', ['--redirect-uri', 'javascript:alert(1)'], '--redirect-uri'],
    ['another method than its grant needs', ['--method', 'none'], '--method: client_credentials needs'],
  ])('`clients update` rejects %s and changes nothing', async (_what, flags, message) => {
    await clients('add', '--id', 'steady', ...MACHINE);
    const before = (await clients('show', 'steady', '--json')).output;
    const { code, output, errors } = await clients('update', 'steady', ...flags);
    expect([code, output]).toEqual([1, '']);
    expect(errors).toContain(message);
    expect((await clients('show', 'steady', '--json')).output).toBe(before);
  });

  it('`clients rotate-secret` shows a new secret once, and the one before is accepted as long as it says', async () => {
    const first = (await clients('add', '--id', 'rotating', ...MACHINE)).output.split('\n')[2] ?? '';
    const rotated = await clients('rotate-secret', 'rotating', '--overlap', '1h');
    const [about, , second = ''] = rotated.output.split('\n');
    expect(about).toMatch(
      /^The client rotating has a new secret; the secret before is accepted until \S+Z\.$/,
    );
    for (const secret of [first, second]) expect(await ask('rotating', secret)).toEqual([200, 'string']);
    expect(JSON.parse((await clients('show', 'rotating', '--json')).output)).toHaveProperty(
      'previousSecretExpiresAt',
    );
    const third = (await clients('rotate-secret', 'rotating', '--overlap', '0')).output.split('\n')[2] ?? '';
    for (const secret of [first, second]) {
      expect(await ask('rotating', secret)).toEqual([401, 'invalid_client']);
    }
    expect(await ask('rotating', third)).toEqual([200, 'string']);
    expect((await run(['events', '--last', '20'])).output).toContain(
      'client.secret_rotated clientId=rotating',
    );
  });

  it('`clients rotate-secret` rejects public clients and bad times, and leaves no empty secret file', async () => {
    const file = ['--secret-file', 'unused.secret'];
    const publicClient = await clients('rotate-secret', 'taken', ...file);
    expect([publicClient.code, publicClient.errors]).toEqual([
      1,
      expect.stringContaining('so the client has no secret to rotate'),
    ]);
    expect(existsSync(join(folder, 'unused.secret'))).toBe(false);
    const bad = await clients('rotate-secret', 'taken', '--overlap', 'soon');
    expect([bad.code, bad.errors]).toEqual([expect.any(Number), expect.stringContaining('30m, 12h or 7d')]);
  });

  it('`clients disable`, `enable`, `remove`, `verify`, `update` and `rotate-secret` reject a configured or unknown client', async () => {
    for (const verb of ['disable', 'enable', 'remove', 'verify', 'unverify', 'update', 'rotate-secret']) {
      const change = verb === 'update' ? ['--client-name', 'New'] : [];
      const fixed = await clients(verb, 'configured', ...change);
      expect([fixed.code, fixed.errors]).toEqual([
        1,
        expect.stringContaining('is defined in the configuration'),
      ]);
      const missing = await clients(verb, 'missing', ...change);
      expect([missing.code, missing.errors]).toEqual([
        1,
        expect.stringContaining('There is no client "missing"'),
      ]);
    }
    expect(await ask('configured', configured.client_secret)).toEqual([200, 'string']);
  });

  it('T073 a client name cannot put control characters on the terminal', async () => {
    const name = 'Nice\u202e app';
    const refused = await clients('add', '--client-name', name, '--redirect-uri', 'https://a.example/');
    expect([refused.code, refused.errors.includes('\u202e')]).toEqual([1, false]);
    expect((await clients('list')).output).not.toContain('\u202e');
  });
});
