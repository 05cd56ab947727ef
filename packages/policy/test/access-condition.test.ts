/** Conditions of access: each member of the table holds, is joined and is asked of clients as it says. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ACCESS_CONDITION_MEMBERS,
  type AccessCondition,
  type AccessSubject,
  claimsOfConditions,
  joinConditions,
  unavailableClaims,
  unmetByClient,
  unmetCondition,
} from '../src/index.ts';

const SUBJECT: AccessSubject = {
  clientId: 'a',
  groups: ['a', 'b'],
  claims: { email: 'a', groups: ['a', 'b'] },
};

/** For each member: a value that holds for the subject, and one that does not, with its reason. */
const EXAMPLES: {
  readonly [K in keyof AccessCondition]-?: {
    readonly met: NonNullable<AccessCondition[K]>;
    readonly unmet: NonNullable<AccessCondition[K]>;
    readonly reason: string;
  };
} = {
  clients: { met: ['b', 'a'], unmet: ['b'], reason: 'the client is not listed in the rule' },
  groups: { met: ['c', 'b'], unmet: ['c'], reason: 'the user is in no group of the rule' },
  claims: {
    met: { email: ['a'], groups: ['b'] },
    unmet: { email: ['a'], name: ['a'] },
    reason: 'the claim name has no value that the rule accepts',
  },
};

const names = Object.keys(ACCESS_CONDITION_MEMBERS) as readonly (keyof AccessCondition)[];

const values = fc.subarray(['a', 'b', 'c']);
const claims = fc.dictionary(fc.constantFrom('email', 'name', 'groups'), values);
const ARBITRARIES: { readonly [K in keyof AccessCondition]-?: fc.Arbitrary<AccessCondition[K]> } = {
  clients: values,
  groups: values,
  claims,
};
const conditions: fc.Arbitrary<AccessCondition> = fc.record(ARBITRARIES, { requiredKeys: [] });
const single = fc.constantFrom('a', 'b', 'c');
const subjects: fc.Arbitrary<AccessSubject> = fc.record({
  clientId: single,
  groups: values,
  claims: fc.dictionary(fc.constantFrom('email', 'name', 'groups'), fc.oneof(single, values)),
});

describe('a condition of access', () => {
  it.each(names)('holds or not by its member %s alone', (name) => {
    const { met, unmet, reason } = EXAMPLES[name];
    expect(unmetCondition({ [name]: met }, SUBJECT)).toBeNull();
    expect(unmetCondition({ [name]: unmet }, SUBJECT)).toEqual({ member: name, reason });
  });

  it.each(names)('needs all members: an unmet %s beside those that hold is its reason', (name) => {
    const met: AccessCondition = Object.fromEntries(names.map((one) => [one, EXAMPLES[one].met]));
    expect(unmetCondition(met, SUBJECT)).toBeNull();
    const unmet = unmetCondition({ ...met, [name]: EXAMPLES[name].unmet }, SUBJECT);
    expect(unmet).toEqual({ member: name, reason: EXAMPLES[name].reason });
  });

  it.each(names)('holds for no client and no user with an empty list in %s', (name) => {
    const empty = ACCESS_CONDITION_MEMBERS[name].kind === 'list' ? [] : { email: [] };
    expect(unmetCondition({ [name]: empty }, SUBJECT)).not.toBeNull();
  });

  it.each(names)('is refused before sign-in by %s only where it is about the client', (name) => {
    const isOfClient = ACCESS_CONDITION_MEMBERS[name].about === 'client';
    const unmet = unmetByClient({ [name]: EXAMPLES[name].unmet }, SUBJECT.clientId);
    expect(unmet?.member).toBe(isOfClient ? name : undefined);
    expect(unmetByClient({ [name]: EXAMPLES[name].met }, SUBJECT.clientId)).toBeNull();
  });

  it.each([
    ['is missing', undefined],
    ['is null', null],
    ['is an object', {}],
    ['is a list in a list', [['a']]],
    ['is another one', 'b'],
  ])('does not hold for a user whose claim %s', (_what, email) => {
    const condition = { claims: { email: ['a', 'undefined', 'null', '[object Object]'] } };
    expect(unmetCondition(condition, { ...SUBJECT, claims: { email } })?.member).toBe('claims');
    expect(unmetCondition(condition, { ...SUBJECT, claims: { email: [email, 'a'] } })).toBeNull();
  });

  it('names the claims about users that it depends on, and those that servers cannot learn', () => {
    expect(claimsOfConditions([{ groups: ['a'] }, { claims: { email: ['a'], phone: ['1'] } }])).toEqual([
      'email',
      'groups',
    ]);
    expect(unavailableClaims({ claims: { email: ['a'], phone: ['1'] } })).toEqual(['phone']);
    expect([claimsOfConditions([{ clients: ['a'] }]), unavailableClaims({ groups: ['a'] })]).toEqual([
      [],
      [],
    ]);
  });
});

describe('joined conditions', () => {
  it('never hold where one of them does not', () => {
    fc.assert(
      fc.property(conditions, conditions, subjects, (one, other, subject) => {
        const joined = unmetCondition(joinConditions(one, other), subject);
        if (joined === null)
          expect([unmetCondition(one, subject), unmetCondition(other, subject)]).toEqual([null, null]);
      }),
    );
  });

  it.each(names)('keep a member that only one of them has: %s', (name) => {
    const condition: AccessCondition = { [name]: EXAMPLES[name].unmet };
    for (const joined of [joinConditions(condition, {}), joinConditions({}, condition)])
      expect(unmetCondition(joined, SUBJECT)?.reason).toBe(EXAMPLES[name].reason);
  });

  it('accept what both accept', () => {
    const one: AccessCondition = { clients: ['a', 'b'], claims: { email: ['a', 'b'], name: ['c'] } };
    const other: AccessCondition = { clients: ['b', 'c'], claims: { email: ['b', 'c'] } };
    expect(joinConditions(one, other)).toEqual({ clients: ['b'], claims: { email: ['b'], name: ['c'] } });
  });

  it('hold where both do, for a subject with one value of each kind', () => {
    const one = single.map(
      (value): AccessSubject => ({
        clientId: value,
        groups: [value],
        claims: { email: value, name: value, groups: [value] },
      }),
    );
    fc.assert(
      fc.property(conditions, conditions, one, (first, second, subject) => {
        const both = unmetCondition(first, subject) ?? unmetCondition(second, subject);
        expect(unmetCondition(joinConditions(first, second), subject) === null).toBe(both === null);
      }),
    );
  });
});
