/** Collects the metrics of several processes, and merges them: each sample gets a label with the number of its process. */
import type { Worker } from 'node:cluster';
import { instruct } from './messages.ts';

/** Milliseconds for a process to report its metrics. */
const METRICS_TIMEOUT = 1_000;

/** Collects the metrics of all processes for the one that was scraped. */
export function collectMetrics(
  all: () => readonly (readonly [number: number, { readonly worker: Worker }])[],
) {
  const open = new Map<
    number,
    { readonly texts: Map<number, string>; readonly finish: () => void; missing: number }
  >();
  let lastId = 0;
  return {
    ask(requester: Worker, requestId: number): void {
      lastId += 1;
      const id = lastId;
      const texts = new Map<number, string>();
      const finish = () => {
        clearTimeout(timer);
        if (open.delete(id))
          instruct(requester, {
            type: 'metrics',
            id: requestId,
            text: mergeMetrics(new Map([...texts].sort(([one], [other]) => one - other))),
          });
      };
      const timer = setTimeout(finish, METRICS_TIMEOUT);
      const members = all();
      open.set(id, { texts, finish, missing: members.length });
      for (const [, { worker }] of members) instruct(worker, { type: 'metrics wanted', id });
    },
    add(id: number, number: number, text: string): void {
      const collection = open.get(id);
      if (collection === undefined) return;
      collection.texts.set(number, text);
      collection.missing -= 1;
      if (collection.missing === 0) collection.finish();
    },
  };
}

/**
 * @param texts by the number of the process
 * @see Prometheus text exposition format 0.0.4: all lines of one metric form one group
 */
export function mergeMetrics(texts: ReadonlyMap<number, string>): string {
  const families = new Map<string, { readonly head: readonly string[]; readonly samples: string[] }>();
  for (const [number, text] of texts) {
    for (const block of text.split(/^(?=# HELP )/m)) {
      const lines = block.split('\n').filter((line) => line !== '');
      const head = lines.filter((line) => line.startsWith('# '));
      const name = head[0]?.split(' ', 3)[2];
      if (name === undefined) continue;
      const family = families.get(name) ?? { head, samples: [] };
      families.set(name, family);
      const samples = lines.filter((line) => !line.startsWith('# '));
      family.samples.push(...samples.map((line) => withProcess(line, number)));
    }
  }
  return [...[...families.values()].flatMap(({ head, samples }) => [...head, ...samples]), ''].join('\n');
}

/** `name{path="/token"} 3` → `name{process="1",path="/token"} 3`; label values may contain anything, names may not. */
function withProcess(line: string, number: number): string {
  const [, name = '', rest = ''] = /^(\w+)(.*)$/.exec(line) ?? [];
  const label = `process="${number}"`;
  return rest.startsWith('{') ? `${name}{${label},${rest.slice(1)}` : `${name}{${label}}${rest}`;
}
