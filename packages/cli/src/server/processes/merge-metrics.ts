/** Collects the metrics of several processes, and merges them: each sample gets a label with the number of its process. */
import type { Worker } from 'node:cluster';
import type { Family } from '../metrics/prometheus-exposition.ts';
import { instruct } from './messages.ts';

/** Milliseconds for a process to report its metrics. */
const METRICS_TIMEOUT = 1_000;

/** Collects the metrics of all processes for the one that was scraped. */
export function collectMetrics(
  all: () => readonly (readonly [number: number, { readonly worker: Worker }])[],
) {
  const open = new Map<
    number,
    { readonly found: Map<number, readonly Family[]>; readonly finish: () => void; missing: number }
  >();
  let lastId = 0;
  return {
    ask(requester: Worker, requestId: number): void {
      lastId += 1;
      const id = lastId;
      const found = new Map<number, readonly Family[]>();
      const finish = () => {
        clearTimeout(timer);
        if (open.delete(id))
          instruct(requester, {
            type: 'metrics',
            id: requestId,
            families: mergeMetrics([...found].sort(([one], [other]) => one - other)),
          });
      };
      const timer = setTimeout(finish, METRICS_TIMEOUT);
      const members = all();
      open.set(id, { found, finish, missing: members.length });
      for (const [, { worker }] of members) instruct(worker, { type: 'metrics wanted', id });
    },
    add(id: number, number: number, families: readonly Family[]): void {
      const collection = open.get(id);
      if (collection === undefined) return;
      collection.found.set(number, families);
      collection.missing -= 1;
      if (collection.missing === 0) collection.finish();
    },
  };
}

/** @param all the number of each process, and its metrics */
export function mergeMetrics(
  all: readonly (readonly [number: number, families: readonly Family[]])[],
): readonly Family[] {
  const merged = new Map<string, Family>();
  for (const [number, families] of all) {
    for (const family of families) {
      const own = family.samples.map((sample) => {
        return { ...sample, labels: { process: String(number), ...sample.labels } };
      });
      const samples = [...(merged.get(family.name)?.samples ?? []), ...own];
      merged.set(family.name, { ...family, samples } as Family);
    }
  }
  return [...merged.values()];
}
