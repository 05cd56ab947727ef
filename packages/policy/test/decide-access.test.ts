/** The evaluator: one case for each member of a rule, their precedence, and several rules together, against a naive evaluator. */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type AccessPrincipal,
  type AccessRequest,
  type CompileCondition,
  ConditionError,
  createCallArguments,
  decideAccess,
  explainAccess,
  loadConditions,
  locateRule,
  NO_ARGUMENTS,
  type PolicyDecision,
  type PolicyRule,
  readRule,
  rulePath,
  type WrittenRule,
} from '../src/index.ts';

const NOW = 1_800_000_000;

const ADA: AccessPrincipal = {
  subject: 'ada',
  clientId: 'editor',
  scopes: ['read', 'other'],
  groups: ['writers'],
  claims: { email: 'ada@example.com', acr: '1fa', auth_time: NOW - 100, cnf: { 'x5t#S256': 'x' } },
};

const CALL: AccessRequest = {
  principal: ADA,
  operation: { method: 'tools/call', tool: 'transfer', prompt: null, resource: null },
  server: '/bank',
  annotations: null,
  arguments: createCallArguments(() => '{"amount":100}'),
  now: NOW,
  network: '192.0.2.1',
};

const ANONYMOUS: AccessRequest = { ...CALL, principal: null };
const AT = 'servers[0].tools["transfer"]';

let compile: CompileCondition;
beforeAll(async () => {
  compile = await loadConditions();
});

const located = (...rules: readonly WrittenRule[]) => rules.map((rule) => locateRule(AT, rule, compile));
const decide = (request: AccessRequest, ...rules: readonly WrittenRule[]) =>
  decideAccess(located(...rules), request);

type Refusal = Exclude<PolicyDecision, { kind: 'allow' }>;
type Expected = { [K in Refusal['kind']]: Omit<Refusal & { kind: K }, 'because'> }[Refusal['kind']];

interface Case {
  /** Met by Ada, and by a caller without a token only where `anonymous` says so. */
  readonly met: WrittenRule;
  readonly unmet: WrittenRule;
  readonly decision: Expected;
  readonly reason: string;
  /** Without a token, the unmet rule besides `public`. */
  readonly anonymous: 'challenge' | 'deny' | 'allow';
}

/** A new member needs a case. */
const CASES: { readonly [K in keyof PolicyRule]-?: Case } = {
  public: {
    met: { public: true },
    unmet: { public: false, scopes: ['write'] },
    decision: { kind: 'insufficient_scope', needed: ['read', 'other', 'write'] },
    reason: 'missing scopes: write',
    anonymous: 'challenge',
  },
  never: {
    met: {},
    unmet: { never: true },
    decision: { kind: 'deny' },
    reason: 'a rule forbids it',
    anonymous: 'challenge',
  },
  scopes: {
    met: { scopes: ['read'] },
    unmet: { scopes: ['read', 'write'] },
    decision: { kind: 'insufficient_scope', needed: ['read', 'other', 'write'] },
    reason: 'missing scopes: write',
    anonymous: 'challenge',
  },
  clients: {
    met: { clients: ['editor'] },
    unmet: { clients: ['viewer'] },
    decision: { kind: 'deny' },
    reason: 'the client is not listed in the rule',
    anonymous: 'challenge',
  },
  groups: {
    met: { groups: ['admins', 'writers'] },
    unmet: { groups: ['admins'] },
    decision: { kind: 'deny' },
    reason: 'the user is in no group of the rule',
    anonymous: 'challenge',
  },
  claims: {
    met: { claims: { email: ['ada@example.com'] } },
    unmet: { claims: { email: ['bob@example.com'] } },
    decision: { kind: 'deny' },
    reason: 'the claim email has no value that the rule accepts',
    anonymous: 'challenge',
  },
  when: {
    met: { when: 'call.arguments.amount <= 100' },
    unmet: { when: 'call.arguments.amount < 100' },
    decision: { kind: 'deny' },
    reason: 'the condition does not hold',
    anonymous: 'deny',
  },
  requires: {
    met: { requires: { acr: ['1fa'], maxAge: 100 } },
    unmet: { requires: { acr: ['2fa'], maxAge: 99, dpop: true } },
    decision: { kind: 'step_up', authentication: { acrValues: ['2fa'], maxAge: 99 }, dpop: true },
    reason:
      'the user has to sign in again, with two factors; the sign-in is too long ago; the token is not bound to a key of the client',
    anonymous: 'challenge',
  },
  approval: {
    met: {},
    unmet: { approval: { by: 'user', lasts: 'call' } },
    decision: { kind: 'approval', approvals: [{ by: 'user', lasts: 'call', rule: `${AT}.approval` }] },
    reason: 'the call needs an approval',
    anonymous: 'challenge',
  },
};

const names = Object.keys(CASES) as readonly (keyof PolicyRule)[];

describe('a rule', () => {
  it.each(names)('allows a call that meets its member %s, and decides by it where it is unmet', (name) => {
    const { met, unmet, decision, reason } = CASES[name];
    expect(decide(CALL, met)).toEqual({ kind: 'allow' });
    const rule = `${AT}.${name === 'public' ? 'scopes' : name}`;
    expect(decide(CALL, unmet)).toMatchObject({ ...decision, because: { rule, reason } });
  });

  it.each(names)('without a token: %s beside public', (name) => {
    const { unmet, anonymous } = CASES[name];
    expect(decide(ANONYMOUS, { public: true, ...(unmet as PolicyRule) }).kind).toBe(anonymous);
    const met = CASES[name].met as PolicyRule;
    const isAboutCall = name === 'public' || name === 'when' || Object.keys(met).length === 0;
    expect(decide(ANONYMOUS, { ...met, public: true }).kind).toBe(isAboutCall ? 'allow' : 'challenge');
  });

  it.each(names)(
    'challenges a call without a token where it is not public, and reads nothing: %s',
    (name) => {
      const request = { ...ANONYMOUS, arguments: createCallArguments(() => expect.unreachable()) };
      for (const rule of [CASES[name].met, CASES[name].unmet])
        if (Object(rule).public !== true)
          expect(decide(request, rule)).toEqual({
            kind: 'challenge',
            because: { rule: AT, reason: 'there is no token' },
          });
    },
  );

  it('has a path that names its pattern, and its members also where it forbids everything', () => {
    expect(rulePath(1, 'tools', 'say "a"*')).toBe('servers[1].tools["say \\"a\\"*"]');
    expect([readRule(false), readRule(['a'])]).toEqual([{ never: true }, { scopes: ['a'] }]);
  });

  it('is read in its short forms, and named without a member then', () => {
    expect(decide(CALL, false)).toEqual({
      kind: 'deny',
      because: { rule: AT, reason: 'a rule forbids it' },
    });
    expect(decide(CALL, ['write'])).toMatchObject({ because: { rule: AT } });
    expect(decide(CALL, ['read'])).toEqual({ kind: 'allow' });
  });

  it('without any, allows each token, and no call without one', () => {
    expect(decide(CALL).kind).toBe('allow');
    expect(decide(ANONYMOUS).kind).toBe('challenge');
  });

  it('without a token, a condition that reads the caller is challenged, and one on the call is not', () => {
    for (const when of [
      "user.email == 'x'",
      "client.id == 'x'",
      "request.acr == '2fa'",
      '!(request.auth_time == request.auth_time)',
    ])
      expect(decide(ANONYMOUS, { public: true, when }).kind, when).toBe('challenge');
    for (const when of ["request.network == 'x'", 'request.time != request.time', "call.server == 'x'"])
      expect(decide(ANONYMOUS, { public: true, when }).kind, when).toBe('deny');
  });

  it('names what a condition read, and refuses where it cannot be evaluated', () => {
    expect(decide(CALL, { when: 'call.arguments.amount < 100' })).toMatchObject({
      because: { values: { 'call.arguments.amount': 100 } },
    });
    expect(decide(CALL, { when: 'call.arguments.total < 100' })).toEqual({
      kind: 'deny',
      because: {
        rule: `${AT}.when`,
        reason: 'the condition could not be evaluated: No such key: total',
        values: { 'call.arguments.total': '[missing]' },
      },
    });
  });

  it('leaves a condition on arguments open until they have arrived, and no other', () => {
    const later: AccessRequest = { ...CALL, arguments: 'later' };
    expect(decide(later, { when: 'call.arguments.amount < 0' }).kind).toBe('allow');
    expect(decide(later, { when: "call.tool == 'other'" }).kind).toBe('deny');
  });

  it('with a condition is not read without what compiles conditions', () => {
    expect(() => locateRule(AT, { when: 'true' }, null)).toThrow('conditions are not loaded');
    expect(locateRule(AT, { scopes: ['read'] }, null).condition).toBeNull();
    const rule = { ...locateRule(AT, {}, null), rule: { when: 'true' } };
    expect(() => decideAccess([rule], CALL)).toThrow(`the condition of ${AT} is not compiled`);
  });

  it('does not ask for a scope that the caller can never be granted', () => {
    const limits = { write: { groups: ['admins'] } };
    const rules = located({ scopes: ['write'] });
    expect(decideAccess(rules, CALL, limits)).toMatchObject({
      kind: 'deny',
      because: { rule: `${AT}.scopes`, reason: 'the scope write cannot be granted' },
    });
    const admin = { ...CALL, principal: { ...ADA, groups: ['admins'] } };
    expect(decideAccess(rules, admin, limits).kind).toBe('insufficient_scope');
    expect(decideAccess(rules, CALL, { read: { groups: ['admins'] } }).kind).toBe('insufficient_scope');
    expect(decideAccess(located({ scopes: ['constructor'] }), CALL, {}).kind).toBe('insufficient_scope');
  });
});

describe('requirements', () => {
  const bound = { ...CALL, principal: { ...ADA, claims: { ...ADA.claims, cnf: { jkt: 'key' } } } };
  const unknown = { ...CALL, principal: { ...ADA, claims: {} } };

  it.each([
    { description: 'a bound token', request: bound, requires: { dpop: true }, expected: null },
    { description: 'dpop that is not required', request: CALL, requires: { dpop: false }, expected: null },
    {
      description: 'a token bound to a certificate only',
      request: CALL,
      requires: { dpop: true },
      expected: { authentication: null, dpop: true },
    },
    {
      description: 'two factors where one suffices',
      request: { ...CALL, principal: { ...ADA, claims: { acr: '2fa' } } },
      requires: { acr: ['1fa'] },
      expected: null,
    },
    {
      description: 'an unknown class',
      request: unknown,
      requires: { acr: ['1fa'] },
      expected: { authentication: { acrValues: ['1fa'] }, dpop: false },
    },
    {
      description: 'an unknown time of the sign-in',
      request: unknown,
      requires: { maxAge: 10 },
      expected: { authentication: { maxAge: 10 }, dpop: false },
    },
    {
      description: 'an old sign-in of the right class, which keeps its class',
      request: CALL,
      requires: { acr: ['1fa'], maxAge: 10 },
      expected: { authentication: { acrValues: ['1fa'], maxAge: 10 }, dpop: false },
    },
  ])('are checked for $description', ({ request, requires, expected }) => {
    const decision = decide(request, { requires });
    if (expected === null) expect(decision).toEqual({ kind: 'allow' });
    else expect(decision).toMatchObject({ kind: 'step_up', ...expected });
  });

  it('of several rules are demanded at once: the shortest age, the classes that all accept', () => {
    const first = { requires: { acr: ['2fa', 'key'], maxAge: 60 } };
    const second = { requires: { acr: ['key'], maxAge: 30, dpop: true } };
    expect(decide(CALL, first, second)).toMatchObject({
      authentication: { acrValues: ['key'], maxAge: 30 },
      dpop: true,
    });
    expect(decide(CALL, { requires: { acr: ['2fa'] } }, { requires: { acr: ['key'] } })).toMatchObject({
      authentication: { acrValues: ['2fa'] },
      dpop: false,
    });
  });
});

describe('requirements of which some say nothing', () => {
  const step = (...requires: readonly NonNullable<PolicyRule['requires']>[]) => {
    const decision = decide(CALL, ...requires.map((one) => ({ requires: one })));
    if (decision.kind !== 'step_up') throw new Error(`it is ${decision.kind}`);
    const { authentication, dpop } = decision;
    return { authentication, dpop };
  };

  it.each<[readonly NonNullable<PolicyRule['requires']>[], object]>([
    [[{ acr: ['2fa'] }, { acr: ['2fa', 'key'] }], { authentication: { acrValues: ['2fa'] }, dpop: false }],
    [[{ acr: ['2fa'] }, { maxAge: 30 }], { authentication: { acrValues: ['2fa'], maxAge: 30 }, dpop: false }],
    [[{ maxAge: 30 }, { acr: ['2fa'] }], { authentication: { acrValues: ['2fa'], maxAge: 30 }, dpop: false }],
    [[{ maxAge: 60 }, { maxAge: 0 }], { authentication: { maxAge: 0 }, dpop: false }],
    [[{ dpop: true }, { dpop: true }], { authentication: null, dpop: true }],
    [[{ dpop: true }, { maxAge: 30 }], { authentication: { maxAge: 30 }, dpop: true }],
  ])('%j', (requires, expected) => {
    expect(step(...requires)).toStrictEqual(expected);
  });

  it('keeps an age of a rule that is met otherwise, and names what is wrong alone', () => {
    expect(decide(CALL, { requires: { acr: ['2fa'], maxAge: 1000 } })).toEqual({
      kind: 'step_up',
      authentication: { acrValues: ['2fa'], maxAge: 1000 },
      dpop: false,
      because: { rule: `${AT}.requires`, reason: 'the user has to sign in again, with two factors' },
    });
  });
});

describe('a condition that fails otherwise than by its evaluation', () => {
  it('fails the request', () => {
    const failing = (error: Error) => ({
      ...locateRule(AT, {}, null),
      rule: { when: 'true' },
      condition: {
        source: 'true',
        readsArguments: false,
        readsTarget: false,
        readsCaller: false,
        values: () => ({}),
        holds: () => {
          throw error;
        },
      },
    });
    expect(() => decideAccess([failing(new RangeError('out of memory'))], CALL)).toThrow(RangeError);
    expect(decideAccess([failing(new ConditionError('no such key'))], CALL).kind).toBe('deny');
  });
});

describe('several rules', () => {
  const unmet = names.map((name) => CASES[name].unmet);

  it('need all their scopes in one challenge, and all their approvals', () => {
    expect(decide(CALL, ['write'], { scopes: ['delete'] })).toMatchObject({
      needed: ['read', 'other', 'write', 'delete'],
      because: { rule: AT },
    });
    const approvals = [
      { by: 'user', lasts: 'call' },
      { by: { groups: ['leads'] }, lasts: 900 },
    ] as const;
    expect(decide(CALL, ...approvals.map((approval) => ({ approval })))).toMatchObject({
      approvals: approvals.map((approval) => ({ ...approval, rule: `${AT}.approval` })),
    });
  });

  it.each([
    [
      'challenge',
      [
        { public: true, never: true as const },
        { public: true, when: 'false' },
      ],
      ANONYMOUS,
    ],
    ['deny', [...unmet].toReversed(), CALL],
    ['insufficient_scope', [CASES.approval.unmet, CASES.requires.unmet, CASES.scopes.unmet], CALL],
    ['step_up', [CASES.approval.unmet, CASES.requires.unmet], CALL],
    ['approval', [CASES.approval.unmet, CASES.scopes.met], CALL],
  ] as const)('decide %s before what comes after it', (kind, rules, request) => {
    expect(decide(request, ...rules).kind).toBe(kind);
  });
});

describe('the rule that is named', () => {
  const at = (path: string, rule: WrittenRule) => locateRule(path, rule, compile);

  it('is the first of the kind that decides, whatever else is unmet before and after it', () => {
    const approval = { by: 'user', lasts: 'call' } as const;
    const rules = [
      at('first', { approval, scopes: ['write'] }),
      at('second', { clients: ['viewer'], groups: ['admins'] }),
      at('third', { never: true }),
    ];
    const because = { rule: 'second.clients', reason: 'the client is not listed in the rule' };
    expect(decideAccess(rules, CALL)).toEqual({ kind: 'deny', because });
    expect(decideAccess(rules.toReversed(), CALL)).toMatchObject({ because: { rule: 'third.never' } });
    expect(decideAccess(rules.slice(0, 1), CALL)).toEqual({
      kind: 'insufficient_scope',
      needed: ['read', 'other', 'write'],
      because: { rule: 'first.scopes', reason: 'missing scopes: write' },
    });
  });

  it('is none where no rule makes an operation public', () => {
    expect(decide(ANONYMOUS)).toEqual({
      kind: 'challenge',
      because: { rule: '', reason: 'there is no token, and no rule makes the operation public' },
    });
  });

  it('names all scopes that are missing', () => {
    expect(decide(CALL, ['write', 'read', 'delete'])).toMatchObject({
      because: { reason: 'missing scopes: write delete' },
    });
  });

  it('names each limit of a scope that is missing, and none of one that the caller has', () => {
    const limits = { write: { groups: ['writers'] }, erase: { groups: ['admins'] } };
    expect(decideAccess(located(['write', 'erase']), CALL, limits)).toEqual({
      kind: 'deny',
      because: { rule: AT, reason: 'the scope erase cannot be granted' },
    });
    expect(decideAccess(located(['write']), CALL, limits).kind).toBe('insufficient_scope');
    const ofRead = { read: { groups: ['admins'] } };
    expect(decideAccess(located(['read', 'write']), CALL, ofRead).kind).toBe('insufficient_scope');
  });
});

describe('an explanation', () => {
  it('leaves a condition on arguments open until they have arrived, and no other', () => {
    const later: AccessRequest = { ...CALL, arguments: 'later' };
    const considered = (when: string, request: AccessRequest) =>
      explainAccess(located({ when }), request).considered;
    const open = { rule: `${AT}.when`, outcome: 'open', reason: 'depends on the arguments' };
    const met = { rule: `${AT}.when`, outcome: 'met', reason: 'met' };
    const [onArguments, onTool] = ['call.arguments.amount > 1', "call.tool == 'transfer'"];
    expect(considered(onArguments, later)).toEqual([open]);
    expect(considered(onArguments, CALL)).toEqual([{ ...met, values: { 'call.arguments.amount': 100 } }]);
    expect(considered(onTool, later)).toEqual([{ ...met, values: { 'call.tool': 'transfer' } }]);
    expect(considered(onTool, CALL)).toEqual([{ ...met, values: { 'call.tool': 'transfer' } }]);
  });

  it('does not list members that were not checked without a token, and those that were', () => {
    const rule: PolicyRule = { public: true, when: "call.server == '/bank'", scopes: ['read'] };
    expect(explainAccess(located(rule), ANONYMOUS).considered).toEqual([
      { rule: `${AT}.scopes`, outcome: 'challenge', reason: 'there is no token' },
      { rule: `${AT}.public`, outcome: 'met', reason: 'met' },
      { rule: `${AT}.when`, outcome: 'met', reason: 'met', values: { 'call.server': '/bank' } },
    ]);
  });

  it('lists each member with its outcome and what a condition read', () => {
    const rule: PolicyRule = {
      scopes: ['read'],
      groups: ['admins'],
      when: 'call.arguments.amount > 1',
      approval: { by: 'user', lasts: 'call' },
    };
    const { decision, considered } = explainAccess(located(rule), CALL);
    expect(decision).toEqual(decide(CALL, rule));
    expect(considered).toEqual([
      { rule: `${AT}.groups`, outcome: 'deny', reason: 'the user is in no group of the rule' },
      { rule: `${AT}.approval`, outcome: 'approval', reason: 'the call needs an approval' },
      { rule: `${AT}.when`, outcome: 'met', reason: 'met', values: { 'call.arguments.amount': 100 } },
      { rule: `${AT}.scopes`, outcome: 'met', reason: 'met' },
    ]);
  });

  it('names the rule as a whole where there is no token, and applies the limits of scopes', () => {
    expect(explainAccess(located({ scopes: ['read'] }), ANONYMOUS).considered).toEqual([
      { rule: AT, outcome: 'challenge', reason: 'there is no token' },
    ]);
    const limits = { write: { groups: ['admins'] } };
    expect(explainAccess(located(['write']), CALL, limits).decision.kind).toBe('deny');
  });
});

describe('the evaluator', () => {
  const texts = fc.subarray(['a', 'b', 'c']);
  const requires = fc.record(
    { acr: texts, maxAge: fc.constantFrom(10, 1000), dpop: fc.boolean() },
    { requiredKeys: [] },
  );
  const ARBITRARIES: { readonly [K in keyof PolicyRule]-?: fc.Arbitrary<PolicyRule[K]> } = {
    public: fc.boolean(),
    never: fc.constant(true as const),
    scopes: texts,
    clients: texts,
    groups: texts,
    claims: fc.dictionary(fc.constantFrom('email', 'name'), texts),
    when: fc.constantFrom(
      'call.arguments.amount > 10',
      "user.id == 'a'",
      'call.arguments.none'.concat(' == 1'),
    ),
    requires,
    approval: fc.constant({ by: 'user', lasts: 'call' } as const),
  };
  const rules = fc.array(fc.record(ARBITRARIES, { requiredKeys: [] }), { maxLength: 3 });
  const principals: fc.Arbitrary<AccessPrincipal | null> = fc.option(
    fc.record({
      subject: fc.constantFrom('a', 'b'),
      clientId: fc.constantFrom('a', 'b'),
      scopes: texts,
      groups: texts,
      claims: fc.record(
        {
          email: fc.constantFrom('a', 'b'),
          acr: fc.constantFrom('a', 'b'),
          auth_time: fc.constantFrom(NOW, NOW - 500),
          cnf: fc.constant({ jkt: 'key' }),
        },
        { requiredKeys: [] },
      ),
    }),
  );

  /** The kind of decision, written down member by member. */
  function naive(given: readonly PolicyRule[], principal: AccessPrincipal | null, amount: number) {
    const who = principal?.claims as Record<string, unknown> | undefined;
    const has = (values: readonly string[], wanted: unknown) => values.some((one) => one === wanted);
    const whenOf = ({ when }: PolicyRule) =>
      when === undefined ||
      (when.startsWith('call.arguments.amount') && amount > 10) ||
      (when.startsWith('user') && principal?.subject === 'a');
    if (principal === null || who === undefined) {
      if (given.length === 0) return 'challenge';
      const isOpen = given.every(
        (rule) =>
          rule.public === true &&
          Object.keys(rule).every((name) => name === 'public' || name === 'when') &&
          (whenOf(rule) || rule.when?.startsWith('user') !== true),
      );
      if (!isOpen) return 'challenge';
      return given.every(whenOf) ? 'allow' : 'deny';
    }
    const isDenied = (rule: PolicyRule) =>
      rule.never === true ||
      (rule.clients !== undefined && !has(rule.clients, principal.clientId)) ||
      (rule.groups !== undefined && !rule.groups.some((one) => principal.groups.includes(one))) ||
      Object.entries(rule.claims ?? {}).some(([name, values]) => !has(values, who[name])) ||
      !whenOf(rule);
    if (given.some(isDenied)) return 'deny';
    const scopes = given.flatMap((rule) => rule.scopes ?? []);
    if (scopes.some((scope) => !principal.scopes.includes(scope))) return 'insufficient_scope';
    const isWeak = ({ requires: { acr, maxAge, dpop } = {} }: PolicyRule) =>
      (acr !== undefined && !has(acr, who['acr'])) ||
      (maxAge !== undefined && NOW - Number(who['auth_time'] ?? 0) > maxAge) ||
      (dpop === true && who['cnf'] === undefined);
    if (given.some(isWeak)) return 'step_up';
    return given.some(({ approval }) => approval !== undefined) ? 'approval' : 'allow';
  }

  it('decides as a naive evaluator does', () => {
    fc.assert(
      fc.property(rules, principals, fc.constantFrom(1, 100), (given, principal, amount) => {
        const request = { ...CALL, principal, arguments: createCallArguments(() => `{"amount":${amount}}`) };
        const { kind } = decide(request, ...given);
        expect(kind).toBe(naive(given, principal, amount));
        expect(explainAccess(located(...given), request).decision.kind).toBe(kind);
      }),
      { numRuns: 2000 },
    );
  });

  it('never allows with a further rule what it did not allow without', () => {
    fc.assert(
      fc.property(rules, rules, principals, (first, second, principal) => {
        const request = { ...CALL, principal, arguments: NO_ARGUMENTS };
        if (first.length > 0 && decide(request, ...first).kind !== 'allow')
          expect(decide(request, ...first, ...second).kind).not.toBe('allow');
      }),
    );
  });
});
