/** Counts as the text that Prometheus reads. @see Prometheus text exposition format 0.0.4 */

type Labels = Readonly<Record<string, string>>;

/** How often a value lay in which class. */
export interface Distribution {
  readonly labels: Labels;
  /** By class; behind the last bound come those beyond all. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Labels as they stand behind a name. */
export function labelsOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** Lines of one name. @param series values by labels as `labelsOf` writes them */
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

/** Lines of a value that goes up and down. */
export function gauge(name: string, help: string, value: number): string[] {
  return family(name, 'gauge', help, new Map([['', value]]));
}

/** Lines of a histogram. @param bounds upper bounds of the classes */
export function histogram(
  name: string,
  help: string,
  bounds: readonly number[],
  distributions: readonly Distribution[],
): string[] {
  const lines = distributions.flatMap(({ labels, counts, sum }) => {
    let below = 0;
    const buckets = [...bounds.map(String), '+Inf'].map((le, index) => {
      below += counts[index] ?? 0;
      return `${name}_bucket${labelsOf({ ...labels, le })} ${below}`;
    });
    return [...buckets, `${name}_sum${labelsOf(labels)} ${sum}`, `${name}_count${labelsOf(labels)} ${below}`];
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines];
}
