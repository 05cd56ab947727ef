/** Evaluations of an external decision point: the mapping of requests, and the responses that the specification shows. */
import { describe, expect, it } from 'vitest';
import {
  type AccessRequest,
  createCallArguments,
  EvaluationError,
  evaluationKey,
  evaluationOf,
  grantEvaluation,
  joinEvaluations,
  NO_ARGUMENTS,
  readEvaluation,
  readEvaluations,
} from '../src/index.ts';

const PLAIN = { subject: {}, arguments: false };

const CALL: AccessRequest = {
  principal: {
    subject: 'ada',
    clientId: 'cli',
    scopes: ['pay'],
    groups: ['clerks'],
    claims: { email: 'ada@example.com', acr: '2fa', cnf: { jkt: 'x' } },
  },
  operation: { method: 'tools/call', tool: 'transfer', prompt: null, resource: null },
  server: '/bank',
  annotations: { readOnly: false, destructive: true },
  arguments: createCallArguments(() => '{"amount":250,"id":9007199254740993}'),
  now: 1_790_000_000,
  network: '192.0.2.1',
};

describe('an operation as an evaluation', () => {
  it('has the user, the method, what it is about, and its circumstances', () => {
    expect(evaluationOf(CALL, PLAIN)).toEqual({
      subject: {
        type: 'user',
        id: 'ada',
        properties: { email: 'ada@example.com', groups: ['clerks'], client: 'cli' },
      },
      action: { name: 'tools/call' },
      resource: {
        type: 'tool',
        id: '/bank#transfer',
        properties: { server: '/bank', name: 'transfer', readOnlyHint: false, destructiveHint: true },
      },
      context: {
        time: '2026-09-21T14:13:20.000Z',
        network: '192.0.2.1',
        scopes: ['pay'],
        sender_constrained: true,
        acr: '2fa',
      },
    });
  });

  it('has arguments only where operators want it, with long integers as text', () => {
    const { resource } = evaluationOf(CALL, { ...PLAIN, arguments: true });
    expect(resource.properties).toMatchObject({ arguments: { amount: 250, id: '9007199254740993' } });
    const later = evaluationOf({ ...CALL, arguments: 'later' }, { ...PLAIN, arguments: true });
    expect(later.resource.properties).not.toHaveProperty('arguments');
  });

  it('has further properties of the subject, which never replace what is known of the user', () => {
    const options = { ...PLAIN, subject: { 'cerbos.roles': ['user'], email: 'eve@example.com' } };
    expect(evaluationOf(CALL, options).subject.properties).toMatchObject({
      'cerbos.roles': ['user'],
      email: 'ada@example.com',
    });
  });

  it('without a token has a subject of its own, and no scopes', () => {
    const { subject, context } = evaluationOf({ ...CALL, principal: null }, PLAIN);
    expect(subject).toEqual({ type: 'anonymous', id: 'anonymous', properties: {} });
    expect(context).not.toHaveProperty('scopes');
  });

  it.each([
    [{ tool: null, prompt: 'hello' }, 'prompt', '/bank#hello'],
    [{ tool: null, resource: 'file:///a' }, 'resource', '/bank#file:///a'],
    [{ tool: null }, 'server', '/bank'],
  ])('%j is about the %s %s', (target, type, id) => {
    const request = { ...CALL, arguments: NO_ARGUMENTS, operation: { ...CALL.operation, ...target } };
    expect(evaluationOf(request, PLAIN).resource).toMatchObject({ type, id });
  });
});

it('the grant of a scope names the scope at its resource, for a user or for a client itself', () => {
  const subject = { subject: 'ada', clientId: 'cli', groups: [], claims: {} };
  const grant = (one: typeof subject | { subject: null; clientId: string; groups: []; claims: object }) =>
    grantEvaluation('pay', 'https://mcp.example/bank', { ...one, claims: {} }, 0, PLAIN);
  expect(grant(subject)).toMatchObject({
    subject: { type: 'user', id: 'ada' },
    action: { name: 'grant' },
    resource: { type: 'scope', id: 'https://mcp.example/bank#pay' },
  });
  expect(grant({ ...subject, subject: null, groups: [] }).subject).toMatchObject({
    type: 'client',
    id: 'cli',
  });
});

describe('several evaluations in one message', () => {
  it('share subject and context', () => {
    const list = { ...CALL, operation: { ...CALL.operation, tool: 'list' } };
    const all = [CALL, list].map((one) => evaluationOf(one, PLAIN));
    const { subject, context } = evaluationOf(CALL, PLAIN);
    expect(joinEvaluations(all)).toEqual({
      subject,
      context,
      evaluations: all.map(({ action, resource }) => ({ action, resource })),
    });
  });

  it('have equal keys when only the time differs', () => {
    const keyOf = (more: Partial<AccessRequest>) => evaluationKey(evaluationOf({ ...CALL, ...more }, PLAIN));
    expect(keyOf({ now: 5 })).toBe(keyOf({}));
    expect(keyOf({ network: '192.0.2.2' })).not.toBe(keyOf({}));
    expect(keyOf({ principal: null })).not.toBe(keyOf({}));
  });
});

describe('a response', () => {
  it.each([
    { description: '§6.2', body: { decision: true }, kind: 'allow', reason: null },
    {
      description: '§6.2 false',
      body: { decision: false },
      kind: 'deny',
      reason: 'the decision point refused it',
    },
    {
      description: '§5.5.2 with reasons',
      body: {
        decision: false,
        context: {
          id: '0',
          reason_admin: { en: 'Request failed policy C076E82F' },
          reason_user: { 'en-403': 'Insufficient privileges. Contact your administrator' },
        },
      },
      kind: 'deny',
      reason: 'the decision point refused it: Request failed policy C076E82F',
    },
    {
      description: '§7.2 with an error',
      body: { decision: false, context: { error: { status: 404, message: 'Resource not found' } } },
      kind: 'deny',
      reason: 'the decision point refused it: Resource not found',
    },
  ])('of the specification, $description, is $kind', ({ body, kind, reason }) => {
    const decision = readEvaluation(body);
    expect(decision).toMatchObject({ kind });
    if (decision.kind === 'deny') expect(decision.because).toEqual({ rule: 'policy.authzen', reason });
  });

  it('with several decisions, as in §7.2 of the specification, has them in order', () => {
    const evaluations = [
      { decision: true },
      { decision: false, context: { reason: 'resource not found' } },
      { decision: false, context: { reason: 'Subject is a viewer of the resource' } },
    ];
    expect(readEvaluations({ evaluations }, 3).map(({ kind }) => kind)).toEqual(['allow', 'deny', 'deny']);
  });

  it.each([null, [], 'true', {}, { decision: 'true' }, { decision: 1 }, { Decision: true }])(
    '%j is no decision',
    (body) => expect(() => readEvaluation(body)).toThrow(EvaluationError),
  );

  it.each([
    {},
    { evaluations: [] },
    { evaluations: [{ decision: true }] },
    { decision: true },
    { evaluations: {} },
  ])('%j has not two decisions', (body) => expect(() => readEvaluations(body, 2)).toThrow(EvaluationError));

  it('has a reason without control characters, and not a long one', () => {
    const body = { decision: false, context: { reason: `a\u001b[2J\n${'b'.repeat(500)}` } };
    const decision = readEvaluation(body);
    expect(decision).toMatchObject({ because: { reason: expect.stringMatching(/refused it: a \[2J b+$/) } });
    expect(JSON.stringify(decision).length).toBeLessThan(350);
  });
});
