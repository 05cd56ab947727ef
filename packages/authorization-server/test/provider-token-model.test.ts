/**
 * Every interleaving of processes, lost responses, crashes, outages and revocation around the tokens of one provider, whose refresh tokens
 * are used once. The rules of the model are the server's own: `refreshFailure` and `outcomeWithoutLease`; the statements are those of the store.
 */
import { expect, it } from 'vitest';
import { outcomeWithoutLease } from '../src/federation/refresh.ts';
import { refreshFailure } from '../src/federation/refresh-with-lease.ts';
import type { UpstreamTokens } from '../src/store/index.ts';
import { checkModel, type Model, type Step } from './model-checker.ts';

const LEASE = 25;
const OUTAGE = { kind: 'outage', code: null, retryAfter: null, isResponseLost: false } as const;
const LOST = { ...OUTAGE, isResponseLost: true } as const;
const REFUSED = { ...OUTAGE, kind: 'refused', code: 'invalid_grant' } as const;

/** The row in the store. */
interface Row {
  /** The number of its refresh token. */
  readonly token: number;
  readonly version: number;
  readonly holder: number | null;
  /** Whether the lease, or the pause after a failure, is over. */
  readonly isLeased: boolean;
  readonly ended: string | null;
}

/** A process that wants to refresh, with the row as it was when it got the lease or read it last. */
interface Process {
  readonly phase: 'idle' | 'waiting' | 'leased' | 'answered';
  readonly known: Row | null;
  /** The number of the new refresh token. */
  readonly answer: number | null;
}

interface State {
  readonly row: Row;
  readonly provider: { readonly live: number; readonly isRevoked: boolean };
  readonly processes: readonly Process[];
  /** Whether a response of the provider never reached the store. */
  readonly wasLost: boolean;
  readonly errors: readonly string[];
}

const IDLE: Process = { phase: 'idle', known: null, answer: null };
/** Refreshes of the model. */
const VERSIONS = 3;

/** @param pauses whether a process may stop for longer than its lease, as a suspended virtual machine */
function createModel({ processes = 2, pauses = false } = {}): Model<State> {
  return {
    initial: {
      row: { token: 1, version: 0, holder: null, isLeased: false, ended: null },
      provider: { live: 1, isRevoked: false },
      processes: Array.from({ length: processes }, () => IDLE),
      wasLost: false,
      errors: [],
    },
    *steps(state) {
      if (state.row.version >= VERSIONS) return;
      const { row, provider } = state;
      if (!provider.isRevoked)
        yield ['the user revokes', { ...state, provider: { ...provider, isRevoked: true } }];
      const holder = row.holder === null ? undefined : state.processes[row.holder];
      const isAtWork = holder?.phase === 'leased' || holder?.phase === 'answered';
      if (row.isLeased && (pauses || !isAtWork))
        yield ['the lease expires', { ...state, row: { ...row, isLeased: false } }];
      for (const index of state.processes.keys()) yield* processSteps(state, index);
    },
    violation: ({ errors }) => errors[0] ?? null,
  };
}

function* processSteps(state: State, index: number): Generator<Step<State>> {
  const { row, provider } = state;
  const process = state.processes[index] ?? IDLE;
  const become = (next: Process, more: Partial<State> = {}): State => ({
    ...state,
    ...more,
    processes: state.processes.with(index, next),
  });
  if (process.phase === 'idle' || process.phase === 'waiting') {
    yield [`${index} asks for the lease`, askForLease(state, index, process, become)];
    return;
  }
  const known = process.known ?? row;
  if (process.phase === 'answered') {
    const saved = row.holder === index && row.ended === null;
    const next = {
      ...row,
      token: process.answer ?? 0,
      version: row.version + 1,
      holder: null,
      isLeased: false,
    };
    yield [
      `${index} saves`,
      become(IDLE, saved ? { row: next, ...checkSaved(state, next) } : { wasLost: true }),
    ];
    yield [`${index} crashes with the response`, become(IDLE, { wasLost: true })];
    return;
  }
  yield [`${index} crashes`, become(IDLE)];
  yield [`${index} cannot reach the provider`, become(IDLE, fail(state, index, known, OUTAGE))];
  yield [`${index}'s request is lost`, become(IDLE, fail(state, index, known, LOST))];
  if (provider.isRevoked || known.token !== provider.live) {
    yield [`${index} is refused`, become(IDLE, fail(state, index, known, REFUSED))];
    return;
  }
  const rotated = { provider: { ...provider, live: provider.live + 1 } };
  yield [
    `${index} is answered`,
    become({ ...process, phase: 'answered', answer: provider.live + 1 }, rotated),
  ];
  const lost = { ...rotated, ...fail(state, index, known, LOST), wasLost: true };
  yield [`${index}'s response is lost`, become(IDLE, lost)];
}

type Become = (next: Process, more?: Partial<State>) => State;

/** One statement: it sets the holder where the version is the known one and no other lease lasts. */
function askForLease({ row }: State, index: number, { known }: Process, become: Become): State {
  const current = known ?? row;
  if (row.version === current.version && row.ended === null && !row.isLeased) {
    const leased = { ...row, holder: index, isLeased: true };
    return become({ phase: 'leased', known: current, answer: null }, { row: leased });
  }
  const outcome = outcomeWithoutLease(recordOf(current), recordOf(row), 0, true);
  return become('kind' in outcome ? IDLE : { phase: 'waiting', known: row, answer: null });
}

/** What the rules read of a row. */
function recordOf({ version, holder, isLeased, ended }: Row): UpstreamTokens {
  return {
    version,
    leaseHolder: holder === null ? null : String(holder),
    leaseUntil: isLeased ? LEASE : null,
    endedAt: ended === null ? null : 0,
    endReason: ended,
  } as unknown as UpstreamTokens;
}

function fail(
  { row, provider, wasLost, errors }: State,
  index: number,
  known: Row,
  error: typeof OUTAGE | typeof LOST | typeof REFUSED,
): Partial<State> {
  const failure = refreshFailure(error, known.holder !== null, LEASE);
  if (failure.kind === 'later') {
    return failure.isReleased && row.holder === index ? { row: { ...row, holder: null } } : {};
  }
  if (row.version !== known.version || row.ended !== null) return {};
  const wrong =
    failure.reason === 'revoked_by_provider' && !provider.isRevoked
      ? ['tokens that the provider did not revoke ended as revoked by it']
      : failure.reason === 'refresh_lost' && !wasLost && !provider.isRevoked
        ? ['tokens of which no response was lost ended']
        : [];
  return { row: { ...row, ended: failure.reason }, errors: [...errors, ...wrong] };
}

/** What is stored is the newest token of the provider. */
function checkSaved({ provider, errors }: State, { token }: Row): Partial<State> {
  return token === provider.live
    ? {}
    : { errors: [...errors, `${token} was stored, ${provider.live} is live`] };
}

it.each([2, 3])(
  'tokens end only if the provider revoked them or a response was lost, and for that reason, with %i processes',
  (processes) => {
    const { violation, states } = checkModel(createModel({ processes }));
    expect(violation).toBeNull();
    expect(states).toBeGreaterThan(1000);
  },
);

it('the model finds tokens that end otherwise: a process that stops for longer than its lease', () => {
  expect(checkModel(createModel({ pauses: true })).violation).not.toBeNull();
});
