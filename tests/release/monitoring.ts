/** The expressions of deploy/prometheus and deploy/grafana. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Expression {
  /** Of the alert or plot. */
  readonly title: string;
  /** PromQL. */
  readonly expr: string;
}

interface Alert extends Expression {
  readonly severity: string;
  /** What to do. */
  readonly description: string;
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly labels: { readonly severity: string };
      readonly annotations: { readonly description: string };
    }[];
  }[];
}

interface Dashboard {
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

const read = (path: string) => readFileSync(new URL(`../../deploy/${path}`, import.meta.url), 'utf8');

export function readAlerts(): readonly Alert[] {
  const { groups }: Rules = parse(read('prometheus/portcullis.rules.yaml'));
  return groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr, labels, annotations }) => ({
      title: alert,
      expr,
      severity: labels.severity,
      description: annotations.description,
    })),
  );
}

/** With the marks of its plots. */
export function expressionsOfDashboard(): readonly Expression[] {
  const { panels, annotations }: Dashboard = JSON.parse(read('grafana/portcullis.json'));
  return [
    ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr }))),
    ...annotations.list.map(({ name, expr }) => ({ title: name, expr })),
  ];
}
