/** How much is tried: a part with every run of the tests, all of it by `npm run resilience`, and for hours with `--long`. */

interface Sizes {
  /** On each store. */
  readonly kills: number;
  /** Of fifty at once, on each store with one process and with three. At most 199: a user has 200 live grants for a client, one of the sign-in. */
  readonly rounds: number;
  /** Rounds in which three processes present the same refresh token, on each store. */
  readonly contests: number;
  /** Seconds for which PostgreSQL is stalled, each in a test of its own. */
  readonly stalls: readonly number[];
  /** Seconds from a lost response to the next attempt. */
  readonly restarts: readonly number[];
  /** Of a cluster under load. */
  readonly failovers: number;
  /** That is synchronized by SCIM, and kills of its two synchronizations each. */
  readonly directory: { readonly users: number; readonly groups: number; readonly kills: number };
  /** Clients that refresh, call and redeem codes meanwhile, and how often they refresh in all. */
  readonly cluster: {
    readonly sessions: number;
    readonly callers: number;
    readonly codes: number;
    readonly refreshes: number;
  };
}

/** What part of the long form is tried. */
const share = Number(process.env['RESILIENCE_SHARE'] ?? 1);

const inCluster = { sessions: 20, callers: 4, codes: 2, refreshes: 0 } as const;
const cluster = { failovers: 5, cluster: inCluster } as const;
const waits = { stalls: [10, 40, 120], restarts: [1, 35, 300] } as const;

const forms: Readonly<Record<string, Sizes>> = {
  whole: {
    kills: 30,
    rounds: 199,
    contests: 10_000,
    ...waits,
    ...cluster,
    directory: { users: 5000, groups: 250, kills: 5 },
  },
  // A thousand kills and a million contests: half on each store.
  long: {
    kills: Math.ceil(500 * share),
    rounds: 199,
    contests: Math.ceil(500_000 * share),
    ...waits,
    failovers: 20,
    directory: { users: 100_000 * share, groups: 5000 * share, kills: 20 },
    cluster: { ...inCluster, sessions: 60, refreshes: 1_000_000 * share },
  },
};

const form = process.env['RESILIENCE'] ?? '';

export const sizes: Sizes = forms[form] ?? {
  kills: 4,
  rounds: 10,
  contests: 500,
  stalls: [7],
  restarts: [1],
  directory: { users: 300, groups: 20, kills: 2 },
  ...cluster,
};

/** Milliseconds that a test may take. */
export const TIMEOUT: number = { whole: 1_200_000, long: 12 * 3_600_000 }[form] ?? 180_000;
