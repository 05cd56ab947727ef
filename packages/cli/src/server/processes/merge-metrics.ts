/** Merges the metrics of several processes: each sample gets a label with the number of its process. */

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
