/**
 * Every interleaving of clients, an attacker, processes, lost responses, crashes and clocks around one refresh token family. The
 * rules of the model are the server's own: `refreshTokenState` and `rotateFamily`.
 */
import { describe, expect, it } from 'vitest';
import { type FamilyRotations, refreshTokenState, rotateFamily } from '../src/token/refresh-token-family.ts';
import { checkModel, type Model, type Step } from './model-checker.ts';

/** One use of a refresh token, from its arrival at a process to its response. */
interface Request {
  readonly by: 'client' | 'attacker';
  readonly number: number;
  /** The rotation that is about to be committed over this generation; `null`: the family was not read yet. */
  readonly rotation: { readonly over: number; readonly family: FamilyRotations } | null;
  /** Its sender has gone: a time limit, a crash, a lost connection. Its response is not read. */
  readonly isAbandoned: boolean;
}

interface State {
  /** The row in the store. */
  readonly family: FamilyRotations;
  readonly isRevoked: boolean;
  /** The newest token that the client has in memory, and on its disk. */
  readonly client: { readonly memory: number; readonly disk: number };
  /** The tokens that the attacker has: from the stolen one on; `null`: there is no attacker. */
  readonly attacker: { readonly stolen: number; readonly newest: number } | null;
  readonly requests: readonly Request[];
  /** How many rotations of the other holder each has missed since its last response. */
  readonly missed: { readonly client: number; readonly attacker: number };
  /** Whether an older backup may still be restored. */
  readonly isRestorable: boolean;
  /** What went wrong, for the invariant. */
  readonly errors: readonly string[];
}

interface Scope {
  /** As `lifetimes.refreshGrace`. */
  readonly grace: number | null;
  /** The number of the token that an attacker holds from the start; `null`: no attacker. */
  readonly stolen: number | null;
  /** A delayed request may be decided after its client has used the successor. */
  readonly unlimitedDelay?: boolean;
  /** A client may use a token that it has not saved. */
  readonly careless?: boolean;
  /** A backup is restored at some time, once. */
  readonly restore?: boolean;
}

/** How much of the model is visited: enough for each kind of step to follow each other. */
interface Bounds {
  readonly generations: number;
  /** Abandoned requests at a time. */
  readonly abandoned: number;
  /** What the clocks of the processes say: they differ by more than an hour, and are stepped in both directions. */
  readonly clocks: readonly number[];
}
const ALONE: Bounds = { generations: 4, abandoned: 2, clocks: [100, 4000, 40_000] };
const ATTACKED: Bounds = { generations: 4, abandoned: 1, clocks: [100, 4000] };
const boundsOf = ({ stolen }: Scope): Bounds => (stolen === null ? ALONE : ATTACKED);

function createModel(scope: Scope): Model<State> {
  return {
    initial: {
      family: { generation: 1, rotations: '[[0,4000]]' },
      isRevoked: false,
      client: { memory: 1, disk: 1 },
      attacker: scope.stolen === null ? null : { stolen: scope.stolen, newest: scope.stolen },
      requests: [],
      missed: { client: 0, attacker: 0 },
      isRestorable: scope.restore === true,
      errors: [],
    },
    *steps(state) {
      if (state.family.generation > boundsOf(scope).generations) return;
      yield* clientSteps(state, scope);
      yield* attackerSteps(state);
      yield* restoreSteps(state);
      for (const request of state.requests) yield* serverSteps(state, request, scope);
    },
    violation: ({ errors }) => errors[0] ?? null,
  };
}

/** Sends its newest token, gives up waiting, saves what it received, crashes. One refresh at a time. */
function* clientSteps(state: State, scope: Scope): Generator<Step<State>> {
  const { client, requests } = state;
  const own = requests.filter(({ by }) => by === 'client');
  const waiting = own.find(({ isAbandoned }) => !isAbandoned);
  const isDelayed = own.some(({ number }) => number < client.memory);
  const isSaved = client.memory === client.disk || scope.careless === true;
  if (waiting === undefined && isSaved && (!isDelayed || scope.unlimitedDelay === true)) {
    yield [`client sends ${client.memory}`, addRequest(state, 'client', client.memory)];
  }
  if (waiting !== undefined && own.length <= boundsOf(scope).abandoned) {
    yield ['client gives up', replaceRequest(state, waiting, { ...waiting, isAbandoned: true })];
    yield ['client crashes', crash(replaceRequest(state, waiting, { ...waiting, isAbandoned: true }))];
  }
  if (client.memory !== client.disk) {
    yield ['client saves', { ...state, client: { memory: client.memory, disk: client.memory } }];
    if (waiting === undefined) yield ['client crashes', crash(state)];
  }
}

function crash(state: State): State {
  return { ...state, client: { memory: state.client.disk, disk: state.client.disk } };
}

/** Sends any of its tokens, one at a time. */
function* attackerSteps(state: State): Generator<Step<State>> {
  const { attacker, requests } = state;
  if (attacker === null || requests.some(({ by }) => by === 'attacker')) return;
  for (let number = attacker.stolen; number <= attacker.newest; number += 1) {
    yield [`attacker sends ${number}`, addRequest(state, 'attacker', number)];
  }
}

/** The store loses its latest rotations: a restored backup, or a failover to a replica that lagged behind. */
function* restoreSteps(state: State): Generator<Step<State>> {
  if (!state.isRestorable) return;
  for (let generation = 0; generation < state.family.generation; generation += 1) {
    const family = { generation, rotations: '' };
    yield [`restore of ${generation}`, { ...state, family, isRevoked: false, isRestorable: false }];
  }
}

/** A process reads the family and decides, then commits. It may crash before and after the commit, and any response may be lost. */
function* serverSteps(state: State, request: Request, scope: Scope): Generator<Step<State>> {
  const { number, by, rotation } = request;
  const name = `${by}'s ${number}`;
  yield [`${name} is lost`, removeRequest(state, request)];
  if (rotation === null) {
    for (const now of boundsOf(scope).clocks) yield* decide(state, request, now, scope, name);
    return;
  }
  if (state.isRevoked || rotation.over !== state.family.generation) {
    yield [`${name} lost the race`, replaceRequest(state, request, { ...request, rotation: null })];
    return;
  }
  const committed = commit(state, by, rotation.family);
  yield [`${name} is committed and answered`, respond(committed, request)];
  yield [`${name} is committed, the response is lost`, removeRequest(committed, request)];
}

function commit(state: State, by: Request['by'], family: FamilyRotations): State {
  if (state.attacker === null) return { ...state, family };
  const other = by === 'client' ? 'attacker' : 'client';
  return { ...state, family, missed: { ...state.missed, [other]: state.missed[other] + 1 } };
}

function* decide(
  state: State,
  request: Request,
  now: number,
  { grace }: Scope,
  name: string,
): Generator<Step<State>> {
  const { family, isRevoked } = state;
  if (isRevoked) {
    yield [`${name} is rejected`, removeRequest(state, request)];
    return;
  }
  const found = refreshTokenState(request.number, family, now, grace);
  if (found === 'live' || found === 'ahead') {
    const rotation = { over: family.generation, family: rotateFamily(request.number, family, now, grace) };
    yield [`${name} is live at ${now}`, replaceRequest(state, request, { ...request, rotation })];
  } else if (found === 'retried') {
    yield [`${name} is answered again at ${now}`, respond(state, request)];
  } else {
    yield [`${name} is reuse at ${now}`, revoke(state, request)];
  }
}

/** A response names the live token, and is never for a holder that missed two rotations of the other. */
function respond(state: State, request: Request): State {
  const successor = request.number + 1;
  const errors = [
    ...(successor === state.family.generation
      ? []
      : [`${request.number} got ${successor}, which is not live`]),
    ...(state.isRevoked ? ['an answer after the family was revoked'] : []),
    ...(state.missed[request.by] < 2 ? [] : [`an answer to ${request.by}, which the other left behind`]),
  ];
  const left = removeRequest(state, request);
  if (request.isAbandoned) return { ...left, errors };
  return { ...receive(left, request, successor), missed: { ...left.missed, [request.by]: 0 }, errors };
}

function receive(left: State, request: Request, successor: number): State {
  if (request.by === 'client') return { ...left, client: { ...left.client, memory: successor } };
  const attacker = left.attacker && { ...left.attacker, newest: Math.max(left.attacker.newest, successor) };
  return { ...left, attacker };
}

/** Without an attacker nothing is reuse. With one, reuse means that a token was used whose successor had been used. */
function revoke(state: State, request: Request): State {
  const errors = [
    ...(state.attacker === null ? ['a session without an attacker was ended'] : []),
    ...(request.number < state.family.generation - 1 ? [] : [`${request.number} was taken for reuse`]),
  ];
  return { ...removeRequest(state, request), isRevoked: true, errors };
}

const addRequest = (state: State, by: Request['by'], number: number): State =>
  sorted(state, [...state.requests, { by, number, rotation: null, isAbandoned: false }]);

const removeRequest = (state: State, request: Request): State =>
  sorted(
    state,
    state.requests.filter((one) => one !== request),
  );

const replaceRequest = (state: State, request: Request, replacement: Request): State =>
  sorted(
    state,
    state.requests.map((one) => (one === request ? replacement : one)),
  );

/** The order of requests means nothing: fewer states. */
function sorted(state: State, requests: readonly Request[]): State {
  return {
    ...state,
    requests: requests.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
  };
}

/** The violation that the checker finds. */
const violationOf = (model: Model<State>): string | null => checkModel(model).violation?.what ?? null;

describe('one client', () => {
  it('T138 no lost response, crash, race or clock ends the session of one client', () => {
    const { violation, states } = checkModel(createModel({ grace: null, stolen: null }));
    expect([violation, states]).toEqual([null, 7018]);
  });

  it('no restored backup or failover ends the session of one client, whatever else happens', () => {
    const { violation, states } = checkModel(createModel({ grace: null, stolen: null, restore: true }));
    expect([violation, states]).toEqual([null, 56_656]);
  });

  it.each([
    { description: 'a grace period in seconds ends it after a lost response', grace: 30 },
    { description: 'no retries end it after a lost response', grace: 0 },
    {
      description: 'a client that uses a token before it saves it loses its session',
      grace: null,
      careless: true,
    },
    {
      description: 'a request that is delayed until its successor was used is reuse',
      grace: null,
      unlimitedDelay: true,
    },
  ])(
    'the model finds sessions that end otherwise: $description',
    ({ description: _description, ...scope }) => {
      expect(violationOf(createModel({ stolen: null, ...scope }))).toBe(
        'a session without an attacker was ended',
      );
    },
  );
});

describe('two holders', () => {
  it.each([
    { description: 'the predecessor of the live token', stolen: 0, reachable: 53_508 },
    { description: 'the live token', stolen: 1, reachable: 41_578 },
  ])(
    '[AS-REF-63] T028 an attacker with $description is noticed as soon as one holder refreshes twice without the other',
    ({ stolen, reachable }) => {
      const { violation, states } = checkModel(createModel({ grace: null, stolen }));
      expect([violation, states]).toEqual([null, reachable]);
    },
  );

  it('two holders that take turns are not noticed by reuse detection: their retries have to be watched', () => {
    const model = createModel({ grace: null, stolen: 0 });
    const tookTurns = ({ isRevoked, family, client, attacker }: State) =>
      !isRevoked && family.generation === 3 && client.memory === 3 && attacker?.newest === 3;
    const steps = checkModel({
      ...model,
      violation: (state) => (tookTurns(state) ? 'both have the live token' : null),
    }).violation?.steps;
    const answers = steps?.flatMap(
      (step) => /^(\w+)'s.* (again|committed)/.exec(step)?.slice(1, 3).join() ?? [],
    );
    expect(answers?.filter((answer) => answer.endsWith('again')).length).toBeGreaterThanOrEqual(2);
  });
});
