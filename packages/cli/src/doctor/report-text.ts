/** Renders a report for a terminal, errors first; untrusted text is cleaned of control characters. */
import { cleanLine } from '../terminal/clean.ts';
import type { Styles } from '../terminal/terminal.ts';
import { type Finding, hasIssues, type Report, type Step } from './report.ts';

export function reportText(report: Report, styles: Styles): string {
  const { server, steps, decisions, findings } = report;
  const errors = findings.filter(({ severity }) => severity === 'error');
  const warnings = findings.filter(({ severity }) => severity === 'warning');
  return [
    styles.bold(cleanLine(server)),
    ...section(
      'Errors',
      errors.flatMap((finding) => findingLines(finding, styles)),
      styles,
    ),
    ...section(
      'Warnings',
      warnings.flatMap((finding) => findingLines(finding, styles)),
      styles,
    ),
    '',
    ...steps.map((step) => stepLine(step, styles)),
    ...section(
      'Decisions',
      decisions.flatMap(({ about, choice, reason }) => [
        cleanLine(`${about}: ${choice}`),
        styles.faint(`  ${cleanLine(reason)}`),
      ]),
      styles,
    ),
    '',
    describeRevisions(report),
    hasIssues(report)
      ? styles.bad(`${errors.length} ${errors.length === 1 ? 'error' : 'errors'}.`)
      : styles.good('No errors.'),
    '',
  ].join('\n');
}

const MARKS = { ok: 'ok    ', failed: 'ERROR ', skipped: '-     ' } as const;

function stepLine({ name, state, summary }: Step, styles: Styles): string {
  const colour = state === 'ok' ? styles.good : state === 'failed' ? styles.bad : styles.faint;
  return `${colour(MARKS[state])}${name.padEnd(22)}${cleanLine(summary)}`;
}

/** Says in one line which revisions applied. */
export function describeRevisions({ claims, revision }: Pick<Report, 'claims' | 'revision'>): string {
  if (revision === null) return 'revision unknown';
  const newest = claims.revisions.at(-1) ?? revision;
  if (claims.by !== 'evidence' || claims.revisions.length === 1)
    return `checked against revision ${claims.revisions.join(' and ')}`;
  return `checked against revision ${newest}, and for warnings against ${claims.revisions.slice(0, -1).join(' and ')}`;
}

/** Says who has to fix a finding. */
export function describeOwner({ owner }: Finding): string {
  if (owner === 'you') return 'You can fix this';
  return owner === 'network' ? 'Network' : `The ${owner} has to fix this`;
}

function findingLines(finding: Finding, styles: Styles): readonly string[] {
  const { requirement, message, remedy, revisions } = finding;
  const name = requirement === null ? '' : ` [${[requirement, ...revisions].join(', ')}]`;
  return [
    styles.bold(cleanLine(message)) + styles.faint(name),
    styles.faint(`  ${describeOwner(finding)}: ${cleanLine(remedy)}`),
  ];
}

function section(title: string, lines: readonly string[], { bold }: Styles): readonly string[] {
  return lines.length === 0 ? [] : ['', bold(title), ...lines.map((line) => `  ${line}`)];
}
