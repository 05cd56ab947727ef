/** Metrics with their values, and their text for Prometheus. @see Prometheus text exposition format 0.0.4 */

export type Labels = Readonly<Record<string, string>>;

/** A metric with its values. */
export type Family = { readonly name: string; readonly help: string } & (
  | { readonly type: 'counter' | 'gauge'; readonly samples: readonly Sample[] }
  | {
      readonly type: 'histogram';
      /** Upper bounds of the buckets. */
      readonly bounds: readonly number[];
      readonly samples: readonly Distribution[];
    }
);

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** A histogram's buckets. */
interface Distribution {
  readonly labels: Labels;
  /** Per bucket; the last counts values above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Without labels. */
export function counter(name: string, help: string, value: number): Family {
  return { name, help, type: 'counter', samples: [{ labels: {}, value }] };
}

/** Without labels. */
export function gauge(name: string, help: string, value: number): Family {
  return { name, help, type: 'gauge', samples: [{ labels: {}, value }] };
}

export function formatMetrics(families: readonly Family[]): string {
  const lines = families.flatMap((family) => [
    `# HELP ${family.name} ${family.help}`,
    `# TYPE ${family.name} ${family.type}`,
    ...samplesOf(family),
  ]);
  return [...lines, ''].join('\n');
}

function samplesOf(family: Family): readonly string[] {
  const { name } = family;
  if (family.type === 'histogram')
    return family.samples.flatMap((one) => bucketsOf(name, family.bounds, one));
  return family.samples.map(({ labels, value }) => `${name}${labelsOf(labels)} ${value}`);
}

function bucketsOf(
  name: string,
  bounds: readonly number[],
  { labels, counts, sum }: Distribution,
): readonly string[] {
  let below = 0;
  const buckets = [...bounds.map(String), '+Inf'].map((le, index) => {
    below += counts[index] ?? 0;
    return `${name}_bucket${labelsOf({ ...labels, le })} ${below}`;
  });
  const own = labelsOf(labels);
  return [...buckets, `${name}_sum${own} ${sum}`, `${name}_count${own} ${below}`];
}

/** Empty without any. */
function labelsOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
