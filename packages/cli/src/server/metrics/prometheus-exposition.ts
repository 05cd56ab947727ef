/** Formats metrics as text for Prometheus. @see Prometheus text exposition format 0.0.4 */

export type Labels = Readonly<Record<string, string>>;

/** A histogram's buckets. */
export interface Distribution {
  readonly labels: Labels;
  /** Per bucket; the last counts values above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Formats labels; empty without any. */
export function labelsOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** Formats a metric family. @param series values by labels, formatted by `labelsOf` */
export function family(
  name: string,
  type: string,
  help: string,
  series: ReadonlyMap<string, number>,
): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...[...series].map(([labels, value]) => `${name}${labels} ${value}`),
  ];
}

/** Formats a counter without labels. */
export function counter(name: string, help: string, value: number): string[] {
  return family(name, 'counter', help, new Map([['', value]]));
}

/** Formats a gauge. */
export function gauge(name: string, help: string, value: number): string[] {
  return family(name, 'gauge', help, new Map([['', value]]));
}

/** Formats a histogram. @param bounds upper bounds of the buckets */
export function histogram(
  name: string,
  help: string,
  bounds: readonly number[],
  distributions: readonly Distribution[],
): string[] {
  const lines = distributions.flatMap(({ labels, counts, sum }) => {
    let below = 0;
    const own = labelsOf(labels);
    const buckets = [...bounds.map(String), '+Inf'].map((le, index) => {
      below += counts[index] ?? 0;
      return `${name}_bucket${labelsOf({ ...labels, le })} ${below}`;
    });
    return [...buckets, `${name}_sum${own} ${sum}`, `${name}_count${own} ${below}`];
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines];
}
