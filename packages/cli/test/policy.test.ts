/** `portcullis policy explain`, `who-can` and `test`, on a real store. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@portcullis/store';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './support/in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-policy-'));
afterAll(() => rmSync(folder, { recursive: true }));

const backend = { url: 'http://127.0.0.1:9001/mcp' };
const servers = [
  {
    path: '/bank',
    backend,
    scopes: { read: 'Read your accounts', pay: { description: 'Transfer money', groups: ['clerks'] } },
    tools: {
      search: { public: true },
      transfer: {
        scopes: ['pay'],
        when: 'call.arguments.amount <= 100.0 && user.email.endsWith("@example.com")',
      },
      close_account: { scopes: ['pay'], requires: { maxAge: 600 } },
      import: { clients: ['batch'] },
      'delete_*': false,
      '*': ['read'],
    },
  },
  { path: '/all', merges: { bank: '/bank' } },
];

const location = ['--config', 'c.json', '--public-url', 'https://mcp.example'];
const run = (...words: readonly string[]) => runHere(words, { environment: {}, folder });
const policy = (...words: readonly string[]) => run('policy', ...words, ...location);

beforeAll(async () => {
  writeFileSync(join(folder, 'c.json'), JSON.stringify({ database: 'p.db', servers }));
  await run('migrate', '--database', 'p.db');
  for (const [email, groups] of [
    ['ada@example.com', 'clerks,leads'],
    ['bob@example.com', 'guests'],
    ['cy@elsewhere.example', 'clerks'],
    ['eve@example.com', 'clerks'],
  ] as const) {
    expect(await run('users', 'add', email, ...location)).toMatchObject({ code: 0 });
    await run('users', 'describe', email, '--groups', groups, ...location);
  }
  await run('users', 'disable', 'eve@example.com', ...location);
});

describe('portcullis policy explain', () => {
  const transfer = ['explain', '--server', '/bank', '--tool', 'transfer'];
  const ada = ['--user', 'ada@example.com'];

  it('names the rule that refuses a call, the values that it read, and all else that was considered', async () => {
    const { code, output, errors } = await policy(...transfer, ...ada, '--arguments', '{"amount":250}');
    expect([code, errors]).toEqual([0, '']);
    expect(output.replace(/user_\S+/, 'user_1')).toBe(`/bank: tools/call transfer
  user    ada@example.com user_1
  groups  clerks, leads
  client  none named
  scopes  read pay
  hints   unknown: no approved definition
refused, by servers[0].tools["transfer"].when: the condition does not hold
    call.arguments.amount  250
    user.email             "ada@example.com"
Considered:
  deny  servers[0].tools["transfer"].when    the condition does not hold
  met   servers[0].tools["transfer"].scopes  met
`);
  });

  it.each([
    {
      description: 'allows what every rule allows',
      words: [...ada, '--arguments', '{"amount":5}'],
      expected: 'allowed\n',
    },
    {
      description: 'names the condition that arguments decide about, where there are none',
      words: ada,
      expected: 'allowed, if the arguments meet servers[0].tools["transfer"].when\n',
    },
    {
      description: 'names the scope that a user cannot be granted, and why',
      words: ['--user', 'bob@example.com', '--arguments', '{"amount":5}'],
      expected: 'refused, by servers[0].tools["transfer"].scopes: the scope pay cannot be granted\n',
    },
    {
      description: 'asks for scopes that the token lacks',
      words: [...ada, '--scopes', 'read', '--arguments', '{"amount":5}'],
      expected:
        'refused: it needs more scopes, by servers[0].tools["transfer"].scopes: missing scopes: pay\n',
    },
    {
      description: 'decides about a request without a token',
      words: [],
      expected: 'refused: it needs an access token\nConsidered:\n',
    },
  ])('$description', async ({ words, expected }) => {
    expect((await policy(...transfer, ...words)).output).toContain(`\n${expected}`);
  });

  it('reads further claims of the token, such as the time of the sign-in', async () => {
    const close = ['explain', '--server', '/bank', '--tool', 'close_account', ...ada];
    expect((await policy(...close)).output).toContain('.requires: the sign-in is too long ago');
    const now = Math.floor(Date.now() / 1000);
    expect((await policy(...close, '--claims', `{"auth_time":${now}}`)).output).toContain('\nallowed\n');
  });

  it('refuses a tool without an approved definition, once the gateway knows the tools of the server', async () => {
    const reviewed = { path: '/reviewed', backend: { url: 'http://127.0.0.1:9002/mcp' } };
    writeFileSync(join(folder, 'r.json'), JSON.stringify({ database: 'p.db', servers: [reviewed] }));
    const words = ['--config', 'r.json', '--public-url', 'https://mcp.example', '--server', '/reviewed'];
    const explained = async (tool: string) =>
      (await run('policy', 'explain', ...words, '--tool', tool, ...ada)).output;
    expect(await explained('unseen')).toContain('\n  hints   unknown: no approved definition\nallowed\n');
    const store = await openStore(join(folder, 'p.db'));
    const list = { server: '/reviewed', backend: 'http://127.0.0.1:9002/mcp', kind: 'tool' } as const;
    await store.saveFirstPins(list, [{ name: 'seen', hash: 'a', definition: '{"name":"seen"}' }], 1);
    await store.close();
    expect(await explained('unseen')).toContain(
      '\nrefused, by servers[0].review: no definition of this tool is approved\n  npm run -s portcullis -- servers review lists the definitions that wait\n',
    );
    expect(await explained('seen')).toContain('\nallowed\n');
  });

  it('explains an operation of a merged server by the rules of its member', async () => {
    const merged = ['explain', '--server', '/all', '--json', ...ada];
    const { output } = await policy(...merged, '--tool', 'bank__delete_all');
    expect(JSON.parse(output)).toMatchObject({
      server: '/bank',
      decision: { kind: 'deny', because: { rule: 'servers[0].tools["delete_*"]' } },
    });
    expect((await policy(...merged, '--tool', 'other__x')).errors).toContain(
      'begins with that of one of its members: bank',
    );
  });

  it.each([
    [['--server', '/none', '--tool', 'x'], 'there is no server at /none; there are /bank, /all'],
    [['--server', '/bank'], 'Name one of tool, prompt, resource and method'],
    [['--server', '/bank', '--tool', 'x', '--user', 'x@example.com'], 'There is no account x@example.com'],
    [['--server', '/bank', '--tool', 'x', '--client', 'a'], 'need --user'],
    [['--server', '/bank', '--tool', 'x', ...ada, '--arguments', '[1]'], '--arguments must be a JSON object'],
  ])('says what is wrong with %j', async (words, expected) => {
    expect(await policy('explain', ...words)).toMatchObject({
      code: 1,
      errors: expect.stringContaining(expected),
    });
  });
});

describe('portcullis policy who-can', () => {
  it('lists the users who may call a tool with what remains open, and their groups', async () => {
    const { code, output } = await policy('who-can', '--server', '/bank', '--tool', 'transfer');
    expect(code).toBe(0);
    expect(output.replaceAll(/user_\S+/g, 'user_1')).toBe(`/bank: tools/call transfer
  ada@example.com       user_1  if the arguments meet servers[0].tools["transfer"].when
  cy@elsewhere.example  user_1  if the arguments meet servers[0].tools["transfer"].when
2 of 3 users who can sign in
Groups:
  clerks  2 of 2
  guests  0 of 1
  leads   1 of 1
Without an access token: no
`);
  });

  it('says that everybody may call a public tool', async () => {
    const { output } = await policy('who-can', '--server', '/bank', '--tool', 'search', '--json');
    expect(JSON.parse(output)).toMatchObject({ withoutToken: 'allowed', users: [{}, {}, {}] });
  });

  it('asks for the client where a rule depends on it', async () => {
    const words = ['who-can', '--server', '/bank', '--tool', 'import'];
    expect((await policy(...words)).errors).toContain('name one with --client');
    expect((await policy(...words, '--client', 'batch')).output).toContain('3 of 3 users');
    expect((await policy(...words, '--client', 'other')).output).toContain('0 of 3 users');
  });
});

describe('portcullis policy test', () => {
  const user = { id: 'ada', email: 'ada@example.com', groups: ['clerks'] };
  const call = { server: '/bank', tool: 'transfer', user, scopes: ['pay'] };
  const test = (cases: unknown) => {
    writeFileSync(join(folder, 'cases.json'), JSON.stringify(cases));
    return run('policy', 'test', 'cases.json', '--config', 'c.json');
  };

  it('passes when each case is decided as expected, without a database', async () => {
    const { code, output } = await test([
      { ...call, arguments: { amount: 50 }, expect: 'allow' },
      { ...call, arguments: { amount: 500 }, expect: 'deny', rule: 'servers[0].tools["transfer"].when' },
      { server: '/bank', tool: 'search', expect: 'allow' },
      { server: '/bank', tool: 'x', expect: 'challenge' },
      { ...call, tool: 'close_account', time: '2026-01-01T00:00Z', expect: 'step_up' },
    ]);
    expect([code, output]).toEqual([0, '5 of 5 cases as expected\n']);
  });

  it('shows what was expected and what was decided, and exits with 1', async () => {
    const { code, output } = await test([
      { ...call, name: 'large transfers', arguments: { amount: 500 }, expect: 'allow' },
      { ...call, tool: 'delete_all', expect: 'deny', rule: 'servers[0].tools["*"]' },
      { ...call, arguments: { amount: 1 }, expect: 'allow' },
    ]);
    expect(code).toBe(1);
    expect(output).toBe(`large transfers
  expected  allow
  decided   deny by servers[0].tools["transfer"].when: the condition does not hold
    call.arguments.amount  500
    user.email             "ada@example.com"
case 2
  expected  deny by servers[0].tools["*"]
  decided   deny by servers[0].tools["delete_*"]: a rule forbids it
1 of 3 cases as expected
`);
  });

  it('names each issue of a file that is wrong', async () => {
    const { code, errors } = await test([{ server: '/bank', toll: 'x', expect: 'yes' }]);
    expect(code).toBe(1);
    expect(errors).toContain('cases.json: 0.toll');
    expect(errors).toContain('cases.json: 0.expect must be one of');
  });

  it('names the case of a server that there is not', async () => {
    const named = (more: object) =>
      test([
        { ...call, expect: 'allow' },
        { ...call, server: '/no', ...more },
      ]);
    const message = 'there is no server at /no; there are /bank, /all';
    for (const [more, name] of [
      [{ expect: 'allow' }, 'case 2'],
      [{ expect: 'allow', name: 'elsewhere' }, 'elsewhere'],
    ] as const)
      expect(await named(more)).toMatchObject({ code: 1, errors: `portcullis: ${name}: ${message}\n` });
  });
});

it('explaining changes nothing in the store', async () => {
  const store = await openStore(join(folder, 'p.db'));
  const before = await store.listAccounts('', 100);
  await policy('explain', '--server', '/bank', '--tool', 'transfer', '--user', 'ada@example.com');
  expect(await store.listAccounts('', 100)).toEqual(before);
  await store.close();
});

describe('portcullis access', () => {
  it('lists what a user may call at each server, and which rule refuses the rest', async () => {
    const { code, output } = await run('access', '--user', 'bob@example.com', ...location);
    expect([code, output]).toEqual([
      0,
      `bob@example.com:
/bank
  search         allowed by servers[0].tools["search"].public
  transfer       refused by servers[0].tools["transfer"].scopes: the scope pay cannot be granted
  close_account  refused by servers[0].tools["close_account"].scopes: the scope pay cannot be granted
  import         refused by servers[0].tools["import"].clients: the client is not listed in the rule
  delete_*       refused by servers[0].tools["delete_*"]: a rule forbids it
  *              allowed by servers[0].tools["*"]
/all
  bank__search         allowed by servers[0].tools["search"].public
  bank__transfer       refused by servers[0].tools["transfer"].scopes: the scope pay cannot be granted
  bank__close_account  refused by servers[0].tools["close_account"].scopes: the scope pay cannot be granted
  bank__import         refused by servers[0].tools["import"].clients: the client is not listed in the rule
  bank__delete_*       refused by servers[0].tools["delete_*"]: a rule forbids it
  bank__*              allowed by servers[0].tools["*"]
`,
    ]);
  });

  it('lists what the members of a group may call, whose other claims are unknown', async () => {
    const { output, errors } = await run('access', '--group', 'clerks', ...location);
    expect(output).toContain(`Members of clerks:
/bank
  search         allowed by servers[0].tools["search"].public
  transfer       if the arguments meet servers[0].tools["transfer"].when
  close_account  after the sign-in that servers[0].tools["close_account"].requires demands
`);
    const unknown = await run('access', '--group', 'clerk', ...location);
    expect([errors, unknown.errors]).toEqual(['', expect.stringContaining('No user is in the group clerk ')]);
  });

  it('without a user it says that the answer is for calls without a token, and what needs a sign-in', async () => {
    expect((await run('access', ...location)).output).toContain(`Without a token:
/bank
  search         allowed by servers[0].tools["search"].public
  transfer       needs a sign-in
`);
  });

  it('without a user it lists what needs no access token', async () => {
    const { output } = await run('access', '--json', ...location);
    const [bank]: { tools: { tool: string; outcome: string | null }[] }[] = JSON.parse(output);
    const allowed = bank?.tools.filter(({ outcome }) => outcome !== null);
    const rules = ['servers[0].methods.public', 'servers[0].tools["search"].public'];
    expect(allowed).toEqual([{ tool: 'search', outcome: 'allowed', because: null, rules }]);
  });

  it.each([
    { words: ['--user', 'no-one@example.com'], error: 'There is no account no-one@example.com' },
    { words: ['--user', 'ada@example.com', '--group', 'clerks'], error: 'Name a user or a group, not both' },
  ])('$words is an error', async ({ words, error }) => {
    const { code, output, errors } = await run('access', ...words, ...location);
    expect([code, output]).toEqual([1, '']);
    expect(errors).toContain(error);
  });
});

describe('portcullis groups', () => {
  it('lists the groups of users who can sign in, with the origin of each, and the members of one', async () => {
    expect((await run('groups', ...location)).output).toBe(`clerks  2 users  2 by users describe
guests  1 user   1 by users describe
leads   1 user   1 by users describe
`);
    expect((await run('groups', 'clerks', ...location)).output.replace(/user_\S+/g, 'user')).toBe(
      'ada@example.com       user\ncy@elsewhere.example  user\n',
    );
  });

  it('a group without members is an error', async () => {
    const { code, errors } = await run('groups', 'none', ...location);
    expect([code, errors]).toEqual([1, expect.stringContaining('No user is in the group none')]);
  });
});
