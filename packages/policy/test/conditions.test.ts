/** Conditions: what compiles, what they read, how arguments are read, and what an evaluation may cost. */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type AccessRequest,
  type CompileCondition,
  ConditionError,
  claimsOfRules,
  createCallArguments,
  loadConditions,
} from '../src/index.ts';

let compile: CompileCondition;
beforeAll(async () => {
  compile = await loadConditions();
});

const REQUEST: AccessRequest = {
  principal: {
    subject: 'ada',
    clientId: 'editor',
    scopes: ['read'],
    groups: ['writers', 'leads'],
    claims: {
      ...{ email: 'ada@example.com', name: 'Ada', department: 'x', acr: '2fa', amr: ['pwd', 1] },
      ...{ auth_time: 1_800_000_000, cnf: { jkt: 'key' } },
    },
  },
  operation: { method: 'tools/call', tool: 'transfer', prompt: null, resource: null },
  server: '/bank',
  annotations: { readOnly: false, destructive: true },
  arguments: createCallArguments(
    () => '{"amount":100,"to":{"iban":"DE1"},"tags":["a","b"],"token":"s3cret"}',
  ),
  now: 1_800_000_060,
  network: '192.0.2.1',
};

const withArguments = (text: string | null): AccessRequest => ({
  ...REQUEST,
  arguments: createCallArguments(() => text),
});

const errorOf = (work: () => unknown): ConditionError => {
  try {
    work();
  } catch (error) {
    if (error instanceof ConditionError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

const COMPUTED_NAME =
  'members of the arguments are named by a constant text or by the variable of a loop over them or over constants';

describe('a condition', () => {
  it.each([
    "user.authenticated && user.id == 'ada' && user.name == 'Ada' && user.email.endsWith('@example.com')",
    "'leads' in user.groups && user.claims.department == 'x' && client.id == 'editor'",
    "call.server == '/bank' && call.method == 'tools/call' && call.tool == 'transfer'",
    "call.prompt == '' && call.resource == '' && call.annotations.destructiveHint && !call.annotations.readOnlyHint",
    "call.arguments.amount <= 100 && call.arguments['to'].iban == 'DE1' && call.arguments.amount == 100.0",
    "call.arguments.tags.all(tag, tag in ['a', 'b']) && size(call.arguments.tags) == 2",
    "!has(call.arguments.note) && has(call.arguments.to.iban) && !('note' in call.arguments)",
    "request.time - request.auth_time <= duration('1m') && request.time.getHours('UTC') == 8",
    "timestamp(int(call.arguments.amount)) < request.time && request.time < timestamp('2030-01-01T00:00' + ':00Z')",
    "request.acr == '2fa' && request.amr == ['pwd'] && request.sender_constrained",
    "request.network.startsWith('192.0.2.') && type(call.arguments.amount) == double",
    'call.arguments.missing == 1 || call.arguments.amount > 1',
  ])('reads its variables: %s', (source) => {
    expect(compile(source).holds(REQUEST)).toBe(true);
    expect(compile(`!(${source})`).holds(REQUEST)).toBe(false);
  });

  it('finds everything empty without a token, and never missing', () => {
    const anonymous: AccessRequest = { ...REQUEST, principal: null, annotations: null };
    const source =
      "!user.authenticated && user.id + user.email + user.name + client.id + request.acr == '' && user.groups == [] && " +
      'request.amr == [] && !request.sender_constrained && call.annotations.destructiveHint && ' +
      "request.auth_time == timestamp('1970-01-01T00:00:00Z')";
    expect(compile(source).holds(anonymous)).toBe(true);
  });

  it.each([
    { source: 'call.arguments.amount <=', message: 'Unexpected token: EOF', line: 1, column: 25 },
    { source: "user.emial == 'x'", message: 'No such key: emial', line: 1, column: 6 },
    {
      source: "user.id == 'a' &&\n  users.id == 'a'",
      message: 'Unknown variable: users',
      line: 2,
      column: 3,
    },
    { source: "user.id + 1 == 'x'", message: 'no such overload: string + int', line: 1, column: 1 },
    {
      source: "user.email.matches('^(a+)+$')",
      message: 'matches is not available in conditions',
      line: 1,
      column: 1,
    },
    {
      source: "cel.bind(a, user.id + user.id, a == '')",
      message: 'bind is not available in conditions',
      line: 1,
      column: 1,
    },
    {
      source: 'call.arguments.a.map(x, x + x).all(x, x == 1)',
      message: 'all needs a list of a variable, or a list of constants',
      line: 1,
      column: 1,
    },
    {
      source: "user.groups.exists(user, user == 'x')",
      message: 'user is a variable of conditions',
      line: 1,
      column: 1,
    },
    {
      source: 'user.email.contains(call.arguments.part)',
      message: 'contains cannot search for a text of the call',
      line: 1,
      column: 1,
    },
    {
      source: 'call.arguments.parts.exists(part, user.email.contains(part))',
      message: 'contains cannot search for a text of the call',
      line: 1,
      column: 35,
    },
    {
      source: 'user.email.contains(call["arguments"].part)',
      message: 'contains cannot search for a text of the call',
      line: 1,
      column: 1,
    },
    {
      source: 'user.name.contains(call.tool)',
      message: 'contains cannot search for a text of the call',
      line: 1,
      column: 1,
    },
    ...(
      [
        ["duration(call.arguments.ttl) <= duration('1h')", 'duration', 10],
        ["call.arguments.times.all(time, duration(time) < duration('1h'))", 'duration', 41],
        ["duration(user.claims.ttl + 'h') <= duration('1h')", 'duration', 10],
        ["duration(dyn('1h')) <= duration('1h')", 'duration', 10],
        ['timestamp(call.arguments.at) < request.time', 'timestamp', 11],
        ['call.arguments.zones.all(zone, request.time.getHours(zone) < 9)', 'getHours', 54],
        ['request.time.getDayOfYear(call.arguments.zone) < 9', 'getDayOfYear', 27],
      ] as const
    ).map(([source, name, column]) => ({
      source,
      message: `${name} reads only a text that the condition writes`,
      line: 1,
      column,
    })),
    {
      source: 'call.arguments[call.tool] == 1',
      message: COMPUTED_NAME,
      line: 1,
      column: 16,
    },
    {
      source: '!(call.tool in call.arguments)',
      message: COMPUTED_NAME,
      line: 1,
      column: 3,
    },
    ...['group in call.arguments', 'call.arguments.teams[group] == 1'].map((body, index) => ({
      source: `user.groups.exists(group, ${body})`,
      message: COMPUTED_NAME,
      line: 1,
      column: index === 0 ? 27 : 48,
    })),
    ...[
      'dyn(call).arguments',
      "dyn(call)['arguments']",
      'dyn(call.arguments)',
      '(user.authenticated ? call.arguments : {})',
      '[call.arguments][0]',
    ].map((list) => ({
      source: `!(user.id in ${list})`,
      message: COMPUTED_NAME,
      line: 1,
      column: 3,
    })),
  ])('that is wrong does not compile, and says where: $source', ({ source, message, line, column }) => {
    const error = errorOf(() => compile(source));
    expect([error.message, error.position]).toEqual([message, { line, column }]);
  });

  it.each([
    'user.id in call.arguments.owners',
    'user.groups.exists(group, group in call.arguments.groups)',
    'user.id in [call.arguments.owner, call.arguments.reviewer]',
    'user.id in call.arguments.items[0].owners',
    '(has(call.arguments.owners) ? user.id in dyn(call.arguments.owners) : true)',
    'user.id in call.arguments.items.map(item, item.owner)',
  ])('finds computed texts in lists of the arguments: %s', (source) => {
    const text =
      '{"owners":["ada"],"groups":["leads"],"owner":"ada","reviewer":"b","items":[{"owner":"ada","owners":["ada"]}]}';
    expect(compile(source).holds(withArguments(text))).toBe(true);
  });

  it('has to be a boolean, short, and not nested too deep', () => {
    expect(errorOf(() => compile('1 + 1')).message).toContain('must be a boolean, not of type int');
    expect(errorOf(() => compile('call.arguments.isOpen')).message).toContain('not of type dyn');
    expect(errorOf(() => compile(`user.id == '${'x'.repeat(2000)}'`)).message).toContain('2000 characters');
    expect(errorOf(() => compile(Array(300).fill('true').join('&&'))).message).toMatch(/limit|maxAstNodes/i);
    const loops = 'call.arguments.a.all(x, x.b.all(y, y.c.all(z, z == 1)))';
    expect(errorOf(() => compile(loops)).message).toContain('at most 2 levels deep');
    expect(compile('call.arguments.a.all(x, x.b.all(y, y == 1))').readsArguments).toBe(true);
  });

  it('says whether it reads arguments, the caller and the target', () => {
    const about = (source: string) => {
      const { readsArguments, readsCaller } = compile(source);
      return [readsArguments, readsCaller];
    };
    const readTarget = [
      "call.tool == 'a'",
      "call.prompt == 'a'",
      "call.resource == 'a'",
      "dyn(call).tool == 'a'",
    ];
    expect(readTarget.map((source) => compile(source).readsTarget)).toEqual([true, true, true, true]);
    const readNone = [
      "call.server == 'a'",
      "call.method == 'a'",
      'call.arguments.tool == 1',
      "user.id == 'a'",
    ];
    expect(readNone.map((source) => compile(source).readsTarget)).toEqual([false, false, false, false]);
    expect(about('call.arguments.a == 1')).toEqual([true, false]);
    expect(about("call.tool == 'a' && request.network == ''")).toEqual([false, false]);
    expect(about("client.id == 'a'")).toEqual([false, true]);
    expect(about("request.acr == 'a' || call.arguments == {}")).toEqual([true, true]);
  });

  it('names the claims about users that it may read', () => {
    expect(
      claimsOfRules([
        { when: "user.email.endsWith('x')" },
        { when: "user.claims['groups'] == []" },
        { when: "call.arguments.name == 'x'" },
      ]),
    ).toEqual(['email', 'groups']);
    expect(claimsOfRules([{ groups: ['a'] }, {}])).toEqual(['groups']);
  });
});

describe('functions', () => {
  it.each([
    [
      "int(call.arguments.n) < 100 && int(call.arguments.n) == int('5')",
      '{"n":"5"}',
      '"" "0b11" "0X11" " 5" "+5" "5\\n" "99999999999999999999"',
    ],
    ['uint(call.arguments.n) < uint(100)', '{"n":"5"}', '"" "0b11" "0o7" "-5"'],
    ['double(call.arguments.n) < 100.0', '{"n":"-5.5e1"}', '"" "0x10" "nan" "-Infinity" ".5" "1_0"'],
  ])('read a number only from a text that every parser reads so: %s', (source, text, others) => {
    const { holds } = compile(source);
    expect(holds(withArguments(text))).toBe(true);
    for (const other of others.split(/ (?=")/))
      expect(errorOf(() => holds(withArguments(`{"n":${other}}`))).message).toMatch(/type error/);
  });

  it('fold letters of ASCII alone', () => {
    const { holds } = compile(
      "call.arguments.a.lowerAscii() == 'kube' && call.arguments.b.upperAscii() == 'SSH'",
    );
    expect(holds(withArguments('{"a":"KuBE","b":"sSh"}'))).toBe(true);
    expect(holds(withArguments('{"a":"\u212aube","b":"sSh"}'))).toBe(false);
    expect(holds(withArguments('{"a":"KuBE","b":"ßh"}'))).toBe(false);
  });

  it('read times in the zone that the condition names, whatever that of the computer is', () => {
    const at = (time: string): AccessRequest => ({ ...REQUEST, now: Date.parse(time) / 1000 });
    const source = [
      ...["FullYear('Europe/Berlin') == 2026", "Month('Europe/Berlin') == 2", "Date('Europe/Berlin') == 29"],
      ...[
        "DayOfMonth('Europe/Berlin') == 28",
        "DayOfWeek('Europe/Berlin') == 0",
        "DayOfYear('Europe/Berlin') == 87",
      ],
      ...[
        "Hours('Europe/Berlin') == 4",
        "Minutes('Europe/Berlin') == 30",
        "Hours('UTC') == 2",
        'Hours() == 2',
      ],
      ...["Hours('-02:30') == 0", "DayOfYear('America/New_York') == 86"],
    ];
    const { holds } = compile(source.map((one) => `request.time.get${one}`).join(' && '));
    const zone = process.env['TZ'];
    try {
      for (const local of ['UTC', 'Europe/Berlin', 'America/New_York']) {
        process.env['TZ'] = local;
        expect(holds(at('2026-03-29T02:30:00Z'))).toBe(true);
        expect(compile('request.time.getDayOfYear() == 180').holds(at('2026-06-30T12:00:00Z'))).toBe(true);
      }
    } finally {
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
    }
  });
});

describe('the error of an evaluation', () => {
  it.each([
    ["{'a': 1}[call.arguments.text] == 1", 'No such key'],
    ["call.arguments.exists(name, {'a': 1}[call.arguments[name]] == 1)", 'No such key'],
    ['bool(call.arguments.text)', 'bool() conversion error'],
  ])('quotes no argument: %s', (source, message) => {
    const given = withArguments('{"text":"s3cret"}');
    expect(errorOf(() => compile(source).holds(given)).message).toBe(message);
  });

  it.each([
    ['call.arguments.to.name == 1', 'No such key: name'],
    ['call.arguments.text + 1 > 1', 'no such overload: dyn<string> + int; call.arguments.text is a text'],
    [
      "has(call.arguments.none) || call.arguments.to < 1 || user.id == ''",
      'no such overload: dyn<map<dyn, dyn>> < int; call.arguments.none is missing; call.arguments.to is an object',
    ],
    [
      'call.arguments.list == call.arguments.no || call.arguments.list + 1 > call.arguments.no',
      'no such overload: dyn<list<dyn>> + int; call.arguments.list is a list; call.arguments.no is null',
    ],
  ])('names what the condition names: %s', (source, message) => {
    const given = withArguments('{"text":"s3cret","to":{},"list":[1],"no":null}');
    expect(errorOf(() => compile(source).holds(given)).message).toBe(message);
  });
});

describe('the types of values', () => {
  it('have one level, however arguments are nested: the engine forgets none', () => {
    const lists = ['[]', '["a"]', '[[1]]', '[{"a":[[]]},1]'];
    const { holds } = compile('call.arguments.list + 1 > call.arguments.list');
    const messages = lists.map(
      (list) => errorOf(() => holds(withArguments(`{"list":${list}}`))).message.split(';')[0],
    );
    expect(new Set(messages)).toEqual(new Set(['no such overload: dyn<list<dyn>> + int']));
    const { holds: isSame } = compile(
      'call.arguments.a == call.arguments.b && call.arguments.b in call.arguments.c',
    );
    const deep = '[{"x":[["y"],1,null]}]';
    expect(isSame(withArguments(`{"a":${deep},"b":${deep},"c":[1,${deep}]}`))).toBe(true);
    expect(isSame(withArguments(`{"a":${deep},"b":[{"x":[["z"],1,null]}],"c":[1,${deep}]}`))).toBe(false);
  });

  it('are none for a member __proto__ of claims, which equals no object', () => {
    const withClaims = (text: string): AccessRequest => ({
      ...REQUEST,
      principal: { subject: 'ada', clientId: 'editor', scopes: [], groups: [], claims: JSON.parse(text) },
    });
    const { holds } = compile("user.claims.of == {'site': 'a'}");
    expect(holds(withClaims('{"of":{"site":"a"}}'))).toBe(true);
    const error = errorOf(() => holds(withClaims('{"of":{"__proto__":{}}}')));
    expect(error.message).toBe('an object has a member __proto__');
  });
});

describe('the values of a condition', () => {
  it('are those that it read, short and without secrets', () => {
    const source =
      "call.arguments.amount > 1 && call.arguments.to.iban == '' && call.arguments.token == '' && user.groups == [] && " +
      'call.arguments.to == {} && request.time == request.auth_time && call.arguments.none == 1';
    expect(compile(source).values(REQUEST)).toEqual({
      'call.arguments.amount': 100,
      'call.arguments.to.iban': 'DE1',
      'call.arguments.token': '[redacted]',
      'user.groups': '[2 elements]',
      'call.arguments.to': '[1 members]',
      'request.time': '2027-01-15T08:01:00.000Z',
      'request.auth_time': '2027-01-15T08:00:00.000Z',
      'call.arguments.none': '[missing]',
    });
    const long = withArguments(JSON.stringify({ text: 'x'.repeat(500), big: 1, no: null }));
    const { values } = compile("call.arguments.text == '' || call.arguments.no == null");
    expect(values(long)).toEqual({
      'call.arguments.text': `${'x'.repeat(100)}…`,
      'call.arguments.no': null,
    });
  });

  it('are missing where arguments cannot be read', () => {
    expect(compile('call.arguments.a == 1').values(withArguments('{"a":1,"a":2}'))).toEqual({
      'call.arguments.a': '[missing]',
    });
  });
});

describe('arguments', () => {
  const holds = (source: string, text: string | null) => compile(source).holds(withArguments(text));

  it('are an empty object where the call has none', () => {
    expect(holds('call.arguments == {}', null)).toBe(true);
  });

  it.each([
    { description: 'key order', text: '{"b":1,"a":100}' },
    { description: 'whitespace', text: ' { "a" : 100 , "b" : 1 } ' },
    { description: 'number form', text: '{"a":1.00e2,"b":1}' },
  ])('are the same whatever their $description', ({ text }) => {
    expect(holds('call.arguments.a <= 100 && call.arguments.a == 100', text)).toBe(true);
    expect(holds('call.arguments.a < 100', text)).toBe(false);
  });

  it.each([
    { description: 'a repeated member', text: '{"a":1,"a":1000}', message: 'repeats a member' },
    { description: 'a repeated member with an escape', text: '{"a":1,"\\u0061":1000}', message: 'escape' },
    { description: 'a member in other case', text: '{"a":1,"A":1000}', message: 'other case or form' },
    { description: 'only a member in other case', text: '{"A":1000}', message: 'other case or form' },
    { description: 'a member in full width', text: '{"a":1,"ａ":1000}', message: 'other case or form' },
    { description: 'a number beyond doubles', text: '{"a":1e400}', message: 'too large to compare' },
    { description: 'a long number in exponent form', text: '{"a":1e300}', message: 'too large to compare' },
    {
      description: 'a number beyond the digits of doubles',
      text: '{"a":99.99999999999999999999}',
      message: 'too many digits',
    },
    { description: 'a list', text: '[1]', message: 'no object' },
    { description: 'what is no JSON', text: '{"a":', message: 'malformed' },
    {
      description: 'a deep nesting',
      text: `{"a":${'['.repeat(70)}${']'.repeat(70)}}`,
      message: 'levels deep',
    },
  ])('with $description are refused, however the condition treats them', ({ text, message }) => {
    expect(errorOf(() => holds('!has(call.arguments.a) || call.arguments.a < 100', text)).message).toContain(
      message,
    );
  });

  it('keep long integers exact', () => {
    expect(holds('call.arguments.a == 9007199254740993', '{"a":9007199254740993}')).toBe(true);
    expect(holds('call.arguments.a == 9007199254740993', '{"a":9007199254740992}')).toBe(false);
    expect(holds('call.arguments.a < 9223372036854775807', '{"a":-9223372036854775807}')).toBe(true);
    expect(errorOf(() => holds('call.arguments.a > 1', '{"a":9223372036854775808}')).message).toContain(
      'too large',
    );
    expect(holds('call.arguments.a < 1', '{"a":0.1234567890123456}')).toBe(true);
  });

  it('of names that every object has are missing unless they are given', () => {
    expect(holds('has(call.arguments.constructor) || has(call.arguments.__proto__)', '{}')).toBe(false);
    expect(holds('call.arguments.toString.a == 1', '{"toString":{"a":1}}')).toBe(true);
  });

  it.each([
    ["call.arguments.f == {'owner': client.id}", '{"f":{"owner":"editor"}}', '{"f":{"__proto__":{}}}'],
    ["call.arguments == {'owner': client.id}", '{"owner":"editor"}', '{"__proto__":{}}'],
    ["call.arguments.f in [{'owner': client.id}]", '{"f":{"owner":"editor"}}', '{"f":{"__proto__":{}}}'],
    ["call.arguments == {'a': {'b': 1}}", '{"a":{"b":1}}', '{"a":{"__proto__":{}}}'],
    ["call.arguments == {'a': 1, 'b': 2}", '{"a":1,"b":2}', '{"a":1,"__proto__":{}}'],
    ["call.arguments.l != [{'a': 1}]", '{"l":[]}', '{"l":[{"__proto__":{}}],"big":9007199254740993}'],
  ])('with a member __proto__ are refused, and equal no object: %s', (source, text, other) => {
    expect(holds(source, text)).toBe(true);
    expect(errorOf(() => holds(source, other)).message).toContain('a member __proto__');
  });

  it.each([
    {
      source: 'call.arguments.list[0].a == 1',
      text: '{"list":[{"a":1}]}',
      other: '{"list":[{"a":1,"A":2}]}',
    },
    {
      source: 'call.arguments.list[size(call.arguments.list) - 1].a == 1',
      text: '{"list":[{"a":1}]}',
      other: '{"list":[{"a":1,"A":2}]}',
    },
    { source: '[call.arguments][0].a == 1', text: '{"a":1}', other: '{"a":1,"A":2}' },
    { source: "{'of': call.arguments}.of.a == 1", text: '{"a":1}', other: '{"a":1,"A":2}' },
    { source: '(user.authenticated ? call.arguments : {}).a == 1', text: '{"a":1}', other: '{"a":1,"A":2}' },
    { source: "call.arguments['pa' + 'th'] == 'x'", text: '{"path":"x"}', other: '{"path":"x","Path":"y"}' },
    { source: "!(('for' + 'ce') in call.arguments)", text: '{"a":1}', other: '{"Force":1}' },
    { source: "!['force'].exists(name, name in call.arguments)", text: '{"a":1}', other: '{"Force":1}' },
    { source: "!call.arguments.exists(name, name == 'force')", text: '{"a":1}', other: '{"Force":1}' },
    { source: "call.arguments != {'force': true}", text: '{"a":1}', other: '{"Force":true}' },
    {
      source: "call.arguments.all(name, call.arguments[name] != 'x' || name == 'a')",
      text: '{"a":"x"}',
      other: '{"A":"x"}',
    },
    { source: "!('force' in dyn(call).arguments)", text: '{"a":1}', other: '{"Force":1}' },
    { source: "call.arguments.filter(name, true)[0] == 'a'", text: '{"a":1}', other: '{"A":1}' },
    { source: "!('force' in call.arguments.map(name, name))", text: '{"a":1}', other: '{"Force":1}' },
    {
      source: "!['force'].exists(text, call.arguments.exists(name, name == text))",
      text: '{"a":1}',
      other: '{"Force":1}',
    },
    { source: "!(call.arguments in [{'force': true}])", text: '{"a":1}', other: '{"Force":true}' },
    {
      source: "call.arguments.exists(name, {'a': true, 'force': false}[name])",
      text: '{"a":1}',
      other: '{"a":1,"Force":1}',
    },
  ])('in other case are refused however they are named: $source', ({ source, text, other }) => {
    expect(holds(source, text)).toBe(true);
    expect(errorOf(() => holds(source, other)).message).toContain('in other case or form');
  });

  it.each([
    { source: "call.arguments.kind == 'Issue'", text: '{"kind":"Issue","issue":"x"}' },
    { source: "call.arguments.issueType in ['Task', 'Bug']", text: '{"issueType":"Bug","task":1}' },
    { source: "call.arguments.method == 'GET'", text: '{"method":"GET","get":1}' },
    {
      source: "'Leads' in user.groups || call.arguments.data.amount < 5",
      text: '{"data":{"amount":1,"leads":{"id":1}}}',
    },
    { source: "{'Low': 1, 'High': 2}[call.arguments.level] < 2", text: '{"level":"Low","low":5}' },
    { source: "call.arguments.level in {'Low': 1, 'High': 2}", text: '{"level":"Low","low":5}' },
    {
      source: "call.arguments.items.all(item, item.kind == 'Issue')",
      text: '{"items":[{"kind":"Issue","issue":"x"}]}',
    },
    { source: "user.groups.exists(group, group != 'Owner')", text: '{"owner":"x"}' },
  ])('may have names that are in other case the texts of other values: $source', ({ source, text }) => {
    expect(holds(`${source} && call.arguments != {}`, text)).toBe(true);
  });

  it('may have names that the condition only has as texts in other case, beside that name, or as time zones', () => {
    expect(holds("call.arguments.Kind == 'kind'", '{"Kind":"kind"}')).toBe(true);
    expect(holds("request.time.getHours('UTC') == 8 && call.arguments.utc", '{"utc":true}')).toBe(true);
    expect(holds("user.name == 'Ada' && call.arguments.Name == 'x'", '{"Name":"x"}')).toBe(true);
  });

  it('in other case may be beside a member that the condition does not read', () => {
    expect(holds('call.arguments.a == 1', '{"a":1,"b":1,"B":2}')).toBe(true);
  });
});

describe('the cost of a condition', () => {
  it('is bounded: loops over large arguments are refused before they run', () => {
    const list = (length: number) => JSON.stringify({ list: Array.from({ length }, (_, index) => index) });
    const simple = compile('call.arguments.list.all(x, x >= 0)');
    expect(simple.holds(withArguments(list(5000)))).toBe(true);
    expect(errorOf(() => simple.holds(withArguments(list(90_000)))).message).toContain(
      'too large for the loops',
    );
    const nested = compile('call.arguments.list.all(x, x in call.arguments.list)');
    expect(nested.holds(withArguments(list(50)))).toBe(true);
    expect(errorOf(() => nested.holds(withArguments(list(5000)))).message).toContain(
      'too large for the loops',
    );
    expect(errorOf(() => simple.holds(withArguments(list(200_000)))).message).toContain('too many values');
  });

  const mail = (recipients: number, characters: number) =>
    JSON.stringify({
      to: Array.from({ length: recipients }, () => 'x@a.example'),
      body: 'x'.repeat(characters),
      headers: Array.from({ length: recipients }, () => 1),
    });

  it.each([
    "to.all(one, one.endsWith('@a.example') && size(call.arguments.body) < 1000000)",
    "to.all(one, !call.arguments.body.lowerAscii().contains('ab'))",
    "to.all(one, call.arguments.body + 'a' != one)",
    'to.all(one, size(dyn(call).arguments.body) > size(one))',
    'to.all(one, size(call.arguments) > 2)',
    "to.all(one, ['body'].all(name, call.arguments[name] != one))",
    "to.all(one, !(one in [call.arguments.body, 'y']))",
    'to.all(one, !(one in (user.authenticated ? call.arguments.headers : [])))',
    'to.filter(one, call.arguments.body == one).size() == 0',
    'headers.all(name, call.arguments.headers[name] == 1)',
    "to.all(one, request.time.getHours('UTC') == 8)",
  ])('counts what each step of a loop reads: call.arguments.%s', (source) => {
    const { holds } = compile(`call.arguments.${source}`);
    expect(holds(withArguments(mail(20, 30_000)))).toBe(true);
    expect(errorOf(() => holds(withArguments(mail(3000, 200_000)))).message).toContain(
      'too large for the loops',
    );
  });

  it.each([
    "size(call.arguments.body) < 9000000 && call.arguments.to.all(one, one.endsWith('@a.example'))",
    "['ab', 'cd'].all(word, call.arguments.body != word && size(call.arguments.body) > 1)",
    "call.arguments.all(name, call.arguments[name] != 'y')",
    "call.arguments.to.all(one, has(call.arguments.body) && one.contains('@'))",
    "'x@a.example' in call.arguments.to && !('ab' in call.arguments.headers)",
    "user.groups.exists(group, group in call.arguments.to || group == 'leads')",
  ])('does not grow by a large text that no step reads, or few: %s', (source) => {
    expect(compile(source).holds(withArguments(mail(3000, 2_000_000)))).toBe(true);
  });

  it('counts texts of the call besides its arguments, too', () => {
    const { holds } = compile('call.arguments.to.all(one, one != call.tool.lowerAscii())');
    const calling = (tool: string) => ({
      ...withArguments(mail(3000, 0)),
      operation: { ...REQUEST.operation, tool },
    });
    expect(holds(calling('send'))).toBe(true);
    expect(errorOf(() => holds(calling('x'.repeat(100_000)))).message).toContain('too large for the loops');
  });

  it('is small for a large text that no loop reads', () => {
    const text = JSON.stringify({ path: '/tmp/a', content: 'x'.repeat(3_000_000) });
    expect(compile("call.arguments.path.startsWith('/tmp/')").holds(withArguments(text))).toBe(true);
  });
});
