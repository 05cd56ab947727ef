/** Instruments: the values of one metric by its labels. */
import type { Family, Labels } from './prometheus-exposition.ts';

/** Of the labels, in their order; one without a value is left out. */
type LabelValues = readonly (string | undefined)[];

export type LabelledCounter = ReturnType<typeof createCounter>;

/** @param names of the labels @param maximum of label combinations: further ones are not counted */
export function createCounter(name: string, help: string, names: readonly string[], maximum?: number) {
  const series = createSeries(names, (labels) => ({ labels, value: 0 }), maximum);
  return {
    add(amount: number, ...values: LabelValues): void {
      const found = series.at(values);
      if (found !== null) found.value += amount;
    },
    family: (): Family => ({ name, help, type: 'counter', samples: series.all() }),
  };
}

export function createLabelledGauge(name: string, help: string, names: readonly string[]) {
  const series = createSeries(names, (labels) => ({ labels, value: 0 }));
  return {
    set(value: number, ...values: LabelValues): void {
      const found = series.at(values);
      if (found !== null) found.value = value;
    },
    family: (): Family => ({ name, help, type: 'gauge', samples: series.all() }),
  };
}

/** Durations. @param bounds upper bounds of the buckets, in seconds */
export function createHistogram(
  name: string,
  help: string,
  bounds: readonly number[],
  names: readonly string[],
) {
  const series = createSeries(names, (labels) => {
    const counts = Array.from({ length: bounds.length + 1 }, () => 0);
    return { labels, counts, sum: 0 };
  });
  if (names.length === 0) series.at([]);
  return {
    record(seconds: number, ...values: LabelValues): void {
      const found = series.at(values);
      if (found === null) return;
      const index = bounds.findIndex((bound) => seconds <= bound);
      const slot = index === -1 ? bounds.length : index;
      found.counts[slot] = (found.counts[slot] ?? 0) + 1;
      found.sum += seconds;
    },
    family: (): Family => ({ name, help, type: 'histogram', bounds, samples: series.all() }),
  };
}

function createSeries<T>(names: readonly string[], create: (labels: Labels) => T, maximum = Infinity) {
  const series = new Map<string, T>();
  return {
    all: () => [...series.values()],
    /** @returns `null`: there are too many */
    at(values: LabelValues): T | null {
      // Most events have only a type: no new string is built for them.
      const key = values.length === 1 ? String(values[0]) : values.join('\n');
      const found = series.get(key);
      if (found !== undefined || series.size >= maximum) return found ?? null;
      const pairs = names.flatMap((name, index) =>
        values[index] === undefined ? [] : [[name, values[index]] as const],
      );
      const created = create(Object.fromEntries(pairs));
      series.set(key, created);
      return created;
    },
  };
}
