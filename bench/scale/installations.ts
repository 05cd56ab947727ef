/** What installations of different sizes need, by the simulator: the figures of docs/guides/scale.md and docs/guides/sizing.md. */
import { measuredCosts } from './costs.ts';
import { simulate } from './simulate.ts';

/** Flows a second. */
interface Rates {
  readonly call: number;
  readonly refresh: number;
  readonly code: number;
  /** With a password, and with consent. */
  readonly signIn: number;
}

export interface Needs {
  readonly users: number;
  readonly busiest: Rates;
  /** So many that each is busy half of the time in the busiest hour. */
  readonly processes: number;
  /** Cores that are busy in the busiest hour. */
  readonly ownCores: number;
  readonly databaseCores: number;
  /** Gigabytes of a day of events. */
  readonly events: number;
  /** Milliseconds that half of the flows take at most, without the server behind the gateway. */
  readonly p50: number;
}

const CALLS_BETWEEN_REFRESHES = 20;
/** Microseconds; that of the database is assumed. Threads of their own compute hashes of passwords, so the simulator leaves sign-ins out. */
const SIGN_IN = { own: 61_000, database: 2_000 };
const MOST_BUSY = 0.5;
/** A disk that keeps its promise, and a database in the same building, in microseconds. */
const BUILDING = { flush: 500, network: 300, backend: 0 };
/** Bytes of a call's event on disk, with its indexes. */
const EVENT = 530;

/** Fifty calls a day for each user, half of them within two hours; a third of the users sign in within one hour. */
export function needsOf(users: number): Needs {
  const call = (users * 25) / 7200;
  const signIn = users / 3 / 3600;
  const busiest = { call, signIn, code: signIn, refresh: call / CALLS_BETWEEN_REFRESHES };
  return predict({ users, busiest, events: (users * 50 * EVENT) / 1e9 });
}

/** Ten million users, or so many times as many: a third of the calls of the busiest hour on average, and few sign-ins. */
export function internetScale(times = 1): Needs {
  const call = 20_000 * times;
  const busiest = { call, signIn: 12 * times, code: 60 * times, refresh: call / CALLS_BETWEEN_REFRESHES };
  return predict({ users: 1e7 * times, busiest, events: ((call / 3) * 86_400 * EVENT) / 1e9 });
}

function predict(known: Pick<Needs, 'users' | 'busiest' | 'events'>): Needs {
  const { call, refresh, code, signIn } = known.busiest;
  const flows = [
    { costs: measuredCosts.call, perSecond: call },
    { costs: measuredCosts.refresh, perSecond: refresh },
    { costs: measuredCosts.code, perSecond: code },
  ];
  const seconds = Math.max(0.3, 400 / (call + refresh));
  const at = (processes: number) =>
    simulate(flows, { ...BUILDING, processes, databaseCores: Math.max(8, processes / 2) }, seconds);
  // What they need at least, if calls shared all batches.
  let processes = Math.ceil((call * measuredCosts.call.own) / 1e6 / MOST_BUSY);
  let prediction = at(processes);
  while (prediction.use.processes > MOST_BUSY) {
    processes += Math.ceil(processes / 20);
    prediction = at(processes);
  }
  const { own, database, p50 } = prediction;
  const all = call + refresh + code;
  return {
    ...known,
    processes,
    ownCores: (all * own + signIn * SIGN_IN.own) / 1e6,
    databaseCores: (all * database + signIn * SIGN_IN.database) / 1e6,
    p50,
  };
}

/** The first columns of the tables in the guides. */
export function describeNeeds({ users, busiest, processes, ownCores, databaseCores, events }: Needs): string {
  const rounded = (value: number) => Number(value.toPrecision(2)).toLocaleString('en');
  const cores = (value: number) => (value < 0.1 ? 'under 0.1' : rounded(value));
  const cells = [users.toLocaleString('en'), rounded(busiest.call), processes, cores(ownCores)];
  return `| ${[...cells, cores(databaseCores), rounded(events * 90)].join(' | ')} |`;
}
