/** Compares predictions with measurements on this machine, at rates and numbers of processes that the costs are not from. */
import { startServer } from '../../tests/support/postgres.ts';
import { median, spread } from '../harness/figures.ts';
import { costsOf, type Observation, type ScaledFlow, waits } from './costs.ts';
import { type Installation, type Measured, type Place, startInstallation } from './installation.ts';
import { simulate } from './simulate.ts';

const SECONDS = 1.5;
/** Each is measured so often, in turns, because others slow the machine down from one second to the next. */
const ROUNDS = 6;
const WARM = 4;
/** The share by which a prediction may be off. */
const TOLERANCE = 0.2;
/** Flows a second that keep one process busy half of the time. */
const RATES: Readonly<Record<ScaledFlow, number>> = { refresh: 1500, call: 1500, code: 300 };

/** The first two are what the costs are from. */
function placesOf(rate: number): readonly Place[] {
  return [
    { processes: 1 },
    { processes: 1, perSecond: rate },
    { processes: 1, perSecond: (rate * 2) / 3 },
    { processes: 1, perSecond: (rate * 4) / 3 },
    { processes: 2, perSecond: rate },
  ];
}

/** This machine: a flush by `pg_stat_io`, and a server behind the gateway that only responds. */
const HERE = { databaseCores: 1, flush: 220, network: 0, backend: 100 };

/** @returns whether all predictions of processor time are close */
export async function check(flow: ScaledFlow): Promise<boolean> {
  const places = placesOf(RATES[flow]);
  const postgres = await startServer({});
  try {
    const installation = await startInstallation(postgres.url, flow);
    const samples = await measureAll(installation, places).finally(() => installation.stop());
    return compare(flow, places, samples);
  } finally {
    await postgres.stop();
  }
}

async function measureAll({ measure }: Installation, places: readonly Place[]): Promise<Measured[][]> {
  await measure({ processes: 2 }, WARM);
  const samples = places.map((): Measured[] => []);
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [index, place] of places.entries()) samples[index]?.push(await measure(place, SECONDS));
  return samples;
}

function compare(flow: ScaledFlow, places: readonly Place[], samples: readonly Measured[][]): boolean {
  const [many, few] = [medians(samples[0] ?? []), medians(samples[1] ?? [])];
  console.log(`${flow}, 64 at once and at half use: ${JSON.stringify([many, few])}`);
  const costs = costsOf(many, few, waits[flow]);
  console.log(JSON.stringify(costs));
  console.log(
    'predicted, measured and how far the prediction is off, at half use first, which the costs are from',
  );
  console.log('| processes, flows/s | µs of processes | µs of PostgreSQL | batches | p50, ms |');
  const isClose = places.map(({ processes, perSecond }, index) => {
    if (perSecond === undefined) return true;
    const predicted = simulate([{ costs, perSecond }], { ...HERE, processes }, 5);
    const values = (name: keyof Measured) => (samples[index] ?? []).map((one) => one[name]);
    const off = (name: keyof Measured) => predicted[name] / median(values(name)) - 1;
    const cell = (name: keyof Measured, digits: number) =>
      `${predicted[name].toFixed(digits)}, ${spread(values(name), digits)}, ${(off(name) * 100).toFixed(0)} %`;
    const cells = [cell('own', 0), cell('database', 0), cell('batches', 2), cell('p50', 2)];
    console.log(`| ${processes}, ${perSecond.toFixed(0)} | ${cells.join(' | ')} |`);
    return Math.abs(off('own')) <= TOLERANCE && Math.abs(off('database')) <= TOLERANCE;
  });
  return isClose.every(Boolean);
}

function medians(samples: readonly Measured[]): Observation {
  const of = (name: keyof Observation) => Number(median(samples.map((one) => one[name])).toPrecision(3));
  return { own: of('own'), database: of('database'), batches: of('batches') };
}
