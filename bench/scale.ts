/**
 * Predicts throughput, latency and the first bottleneck of 1 to 64 processes on PostgreSQL with 2 to 64 cores.
 * `node --conditions=portcullis-source bench/scale.ts [--check] [flow]`; with `--check` it first measures the costs with one
 * process here, then predicts and measures what was not used for that: other numbers of connections, and two processes.
 */
import { check } from './scale/check.ts';
import { measuredCosts } from './scale/costs.ts';
import { type Costs, type Deployment, simulate } from './scale/simulate.ts';

/** A disk that keeps its promise, and a database in the same building, in microseconds. */
const FLUSH = 500;
const NETWORK = 300;
const PROCESSES = [1, 2, 4, 8, 16, 32, 64];
const DATABASE_CORES = [2, 4, 8, 16, 32, 64];
/** Connections at each process. */
const CLIENTS = 64;

const words = process.argv.slice(2);
const [flow = 'refresh'] = words.filter((word) => !word.startsWith('--'));
if (words.includes('--check')) {
  process.exit((await check()) ? 0 : 1);
}
const costs = measuredCosts[flow];
if (costs === undefined) {
  console.error(`There is no ${flow}; there are ${Object.keys(measuredCosts).join(', ')}`);
  process.exit(1);
}
printTable(flow, costs);

function printTable(name: string, measured: Costs): void {
  console.log(
    `${name}: thousands a second, p99 in ms, and what is busy first (P processes, D database, W neither: waiting)`,
  );
  console.log(
    `flush ${FLUSH} µs, network ${NETWORK} µs, ${CLIENTS} requests at once at each process, a core for each`,
  );
  console.log(`\n| processes | ${DATABASE_CORES.map((cores) => `${cores} cores`).join(' | ')} |`);
  console.log(`| --- | ${DATABASE_CORES.map(() => '---').join(' | ')} |`);
  for (const processes of PROCESSES) {
    const cells = DATABASE_CORES.map((databaseCores) => {
      const { perSecond, p99, bottleneck } = simulate(measured, deploymentOf(processes, databaseCores), 0.15);
      return `${(perSecond / 1000).toFixed(1)}, ${p99.toFixed(0)} ${bottleneck[0]?.toUpperCase()}`;
    });
    console.log(`| ${processes} | ${cells.join(' | ')} |`);
  }
}

function deploymentOf(processes: number, databaseCores: number): Deployment {
  return {
    processes,
    databaseCores,
    clients: CLIENTS,
    processCores: processes,
    isShared: false,
    flush: FLUSH,
    network: NETWORK,
    load: 0,
  };
}
