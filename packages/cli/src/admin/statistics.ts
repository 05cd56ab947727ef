/** `portcullis statistics`: what happened over time, as servers count it and the admin API shows it. */
import {
  countMissing,
  createStatistics,
  readStatistics,
  type SeriesStep,
  type ShownCounts,
  type ShownStatistics,
  timeOfStatistics,
} from '@portcullis/admin/operations';
import { type Command, Option } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';

/** The last hour, day, week or month: milliseconds, and its steps. */
const TIMES = {
  hour: [3_600_000, 'minute'],
  day: [86_400_000, 'hour'],
  week: [7 * 86_400_000, 'day'],
  month: [30 * 86_400_000, 'day'],
} as const satisfies Readonly<Record<string, readonly [number, SeriesStep]>>;

type Over = keyof typeof TIMES;

type Task = StoreTask<{ readonly over: Over }>;

export function defineStatistics(program: Command, processContext: ProcessContext): void {
  const define = storeCommands(program, processContext, (task: Task) => task, ['config', 'database']);
  const more = 'In UTC. Hours that no server has counted yet are counted first, and saved.';
  define('statistics', 'count sign-ins, tokens, calls and refusals over time', show, more)
    .addOption(
      new Option('--over <time>', 'the last hour, day, week or month')
        .choices(Object.keys(TIMES))
        .default('day'),
    )
    .option('--json', 'as JSON');
}

async function show({ store, flags }: Task): Promise<Output> {
  const time = timeOf(flags.over);
  await countMissing(store, Date.now, timeOfStatistics(time).begin);
  const statistics = createStatistics(store, Date.now);
  let read = await readStatistics(statistics, time);
  // The events of the last hours, which are not saved: some more of them each time.
  for (let tries = 0; !read.isComplete && tries < MAX_TRIES; tries += 1)
    read = await readStatistics(statistics, time);
  return { json: read, text: statisticsText(read) };
}

/** Each reads for a tenth of a second. */
const MAX_TRIES = 300;

function timeOf(over: Over) {
  const [duration, step] = TIMES[over];
  const to = Date.now();
  return { from: to - duration, to, step };
}

/** The query of the admin API. */
export function statisticsQuery(over: unknown): Readonly<Record<string, string>> {
  const { from, step } = timeOf(over as Over);
  return { from: new Date(from).toISOString(), step };
}

/** @param found `Statistics` of the admin API */
export function statisticsText(found: unknown): string {
  const { items, total, isComplete } = found as ShownStatistics;
  const isDaily = items.length > 1 && items.every(({ at }) => at.endsWith('T00:00:00.000Z'));
  const rows = items.map((item) => [
    isDaily ? item.at.slice(0, 10) : item.at.slice(0, 16).replace('T', ' '),
    ...cellsOf(item),
    numberOf(item.live?.grants),
    numberOf(item.live?.sessions),
  ]);
  const refusals = total.refusals.toSorted((one, other) => other.count - one.count);
  return [
    columns([HEADER, ...rows, ['total', ...cellsOf(total), '', '']]),
    ...(refusals.length === 0
      ? []
      : ['\nRefusals\n', columns(refusals.map(({ reason, count }) => [cleanLine(reason), String(count)]))]),
    ...(total.servers.length === 0 ? [] : ['\n', columns([SERVER_HEADER, ...total.servers.map(serverRow)])]),
    ...(isComplete ? [] : ['\nNot everything is counted yet.\n']),
  ].join('');
}

const HEADER = [
  ...['from (UTC)', 'sign-ins', 'consents', 'tokens', 'calls', 'refused', 'p95 ms'],
  ...['connections', 'sessions'],
];
const SERVER_HEADER = ['server', 'calls', 'refused', 'failed', 'p50 ms', 'p95 ms', 'p99 ms'];

function cellsOf({ counts, refusals, backends }: ShownCounts): readonly string[] {
  const counted = (type: string) => String(counts.find((one) => one.type === type)?.count ?? 0);
  return [
    counted('login.succeeded'),
    counted('consent.allowed'),
    counted('token.issued'),
    counted('call.finished'),
    String(refusals.reduce((sum, { count }) => sum + count, 0)),
    numberOf(backends?.p95),
  ];
}

function serverRow({ server, calls, refused, failed, latency }: ShownCounts['servers'][number]) {
  const latencies = [latency?.p50, latency?.p95, latency?.p99].map(numberOf);
  return [cleanLine(server), String(calls), String(refused), String(failed), ...latencies];
}

function numberOf(value: number | undefined): string {
  return value === undefined ? '-' : String(value);
}
