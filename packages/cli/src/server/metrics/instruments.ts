/** Instruments: the values of one metric by its labels, and their text for Prometheus. */
import { type Distribution, family, histogram, type Labels, labelsOf } from './prometheus-exposition.ts';

/** A label without a value is left out. */
type LabelValues = readonly (string | undefined)[];

/** @param amount to add, or the new value */
type Note = (amount: number, ...values: LabelValues) => void;

interface Instrument {
  expose(): readonly string[];
}

/** @param names of the labels @param maximum of label combinations: further ones are not counted */
export function createCounter(
  name: string,
  help: string,
  names: readonly string[],
  maximum?: number,
): Instrument & { readonly add: Note } {
  const series = createSeries(names, (labels) => ({ labels: labelsOf(labels), value: 0 }), maximum);
  return {
    add(amount, ...values) {
      const found = series.at(values);
      if (found !== null) found.value += amount;
    },
    expose: () => family(name, 'counter', help, valuesOf(series.all())),
  };
}

export function createGauge(
  name: string,
  help: string,
  names: readonly string[],
): Instrument & { readonly set: Note } {
  const series = createSeries(names, (labels) => ({ labels: labelsOf(labels), value: 0 }));
  return {
    set(value, ...values) {
      const found = series.at(values);
      if (found !== null) found.value = value;
    },
    expose: () => family(name, 'gauge', help, valuesOf(series.all())),
  };
}

/** Durations. @param bounds upper bounds of the buckets, in seconds */
export function createHistogram(
  name: string,
  help: string,
  bounds: readonly number[],
  names: readonly string[],
): Instrument & { readonly record: Note } {
  const series = createSeries(names, (labels) => {
    const counts = Array.from({ length: bounds.length + 1 }, () => 0);
    return { labels, counts, sum: 0 } satisfies Distribution;
  });
  if (names.length === 0) series.at([]);
  return {
    record(seconds, ...values) {
      const found = series.at(values);
      if (found === null) return;
      const index = bounds.findIndex((bound) => seconds <= bound);
      const slot = index === -1 ? bounds.length : index;
      found.counts[slot] = (found.counts[slot] ?? 0) + 1;
      found.sum += seconds;
    },
    expose: () => histogram(name, help, bounds, series.all()),
  };
}

/** The text of several, in this order. */
export function exposeAll(...instruments: readonly Instrument[]): () => readonly string[] {
  return () => instruments.flatMap((one) => one.expose());
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
      const created = create(
        Object.fromEntries(
          names.flatMap((name, index) => (values[index] === undefined ? [] : [[name, values[index]]])),
        ),
      );
      series.set(key, created);
      return created;
    },
  };
}

function valuesOf(all: readonly { readonly labels: string; readonly value: number }[]) {
  return new Map(all.map(({ labels, value }) => [labels, value]));
}
