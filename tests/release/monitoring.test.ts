/** The alerts for Prometheus and the dashboard for Grafana: every metric, label and event that they name exists. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Expression, expressionsOfDashboard, readAlerts } from './monitoring.ts';

const page = (path: string) => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8');

/** Name → labels, of the families that docs/metrics.md lists from the code. */
const families = new Map(
  [...page('metrics.md').matchAll(/^\| `(\w+)` \|.*?\((\w+)(?:; ([^)]*))?\)/gm)].map(
    ([, name = '', type = '', labels = '']) => [
      name,
      [...labels.matchAll(/\w+/g)].map(String).concat(type === 'histogram' ? ['le'] : []),
    ],
  ),
);
const events = new Set([...page('events.md').matchAll(/`([a-z_]+(?:\.[a-z_]+)+)`/g)].map(([, type]) => type));

/** Of the scrape configuration. */
const TARGET_LABELS = ['job', 'instance'];
/** Prometheus' own, about a scrape. */
const SCRAPE_METRICS = ['up'];

const alerts = readAlerts();
const all: readonly Expression[] = [...alerts, ...expressionsOfDashboard()];

const METRIC = /\b(up|(?:portcullis|process|nodejs)_[a-z0-9_]+)\b(?:\{([^}]*)\})?/g;
const familyOf = (name: string) => (families.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, ''));

describe.each(all)('the expression of $title', ({ expr }) => {
  const metrics = [...expr.matchAll(METRIC)].map(([, name = '', selector = '']) => ({
    name,
    labels: [...selector.matchAll(/(\w+)[=!]~?"([^"]*)"/g)].map(([, label = '', value = '']) => ({
      label,
      value,
    })),
  }));

  it('names metrics and labels that the server has', () => {
    expect(metrics).not.toEqual([]);
    for (const { name, labels } of metrics) {
      if (SCRAPE_METRICS.includes(name)) continue;
      const known = families.get(familyOf(name));
      expect([name, known]).not.toEqual([name, undefined]);
      for (const { label } of labels) expect([...(known ?? []), ...TARGET_LABELS]).toContain(label);
    }
  });

  it('groups by labels of its metrics', () => {
    const possible = metrics.flatMap(({ name }) => families.get(familyOf(name)) ?? []);
    for (const [, labels = ''] of expr.matchAll(/\bby \(([^)]*)\)/g))
      for (const label of labels.split(/,\s*/)) expect([...possible, ...TARGET_LABELS]).toContain(label);
  });

  it('names types of events that exist', () => {
    const types = metrics.flatMap(({ labels }) => labels.filter(({ label }) => label === 'type'));
    for (const { value } of types) for (const type of value.split('|')) expect(events).toContain(type);
  });
});

describe('deploy/prometheus', () => {
  it('says for each alert what to do, and has it on the page', () => {
    const rows = [...page('guides/monitoring.md').matchAll(/^\| `(\w+)` \| (\w+) \|/gm)];
    expect(rows.map(([, alert, severity]) => [alert, severity])).toEqual(
      alerts.map(({ title, severity }) => [title, severity]),
    );
    for (const { title, description } of alerts)
      expect([title, description]).toEqual([title, expect.stringMatching(/\w/)]);
  });

  it('is a file that the scrape configuration of the page names', () => {
    const block = /^```yaml\n([\s\S]*?)^```$/m.exec(page('guides/monitoring.md'))?.[1] ?? '';
    expect(parse(block)).toMatchObject({ rule_files: ['portcullis.rules.yaml'] });
  });
});
