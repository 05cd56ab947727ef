/** Renders a report for a terminal, errors first; untrusted text is cleaned of control characters. */
import { cleanLine } from '../terminal/clean.ts';
import type { Styles } from '../terminal/terminal.ts';
import { type Finding, hasIssues, type Report, type Step } from './report.ts';

export function reportText(report: Report, styles: Styles): string {
  const findingsOf = (wanted: Finding['severity']) =>
    report.findings.filter(({ severity }) => severity === wanted);
  const errors = findingsOf('error');
  const decisions = report.decisions.flatMap(({ about, choice, reason }) => [
    cleanLine(`${about}: ${choice}`),
    styles.faint(`  ${cleanLine(reason)}`),
  ]);
  const section = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : ['', styles.bold(title), ...lines.map((line) => `  ${line}`)];
  const findingLines = (finding: Finding) => describeFinding(finding, styles);
  return [
    styles.bold(cleanLine(report.server)),
    ...section('Errors', errors.flatMap(findingLines)),
    ...section('Warnings', findingsOf('warning').flatMap(findingLines)),
    '',
    ...report.steps.map((step) => stepLine(step, styles)),
    ...section('Decisions', decisions),
    '',
    describeRevisions(report),
    hasIssues(report)
      ? styles.bad(`${errors.length} ${errors.length === 1 ? 'error' : 'errors'}.`)
      : styles.good('No errors.'),
    '',
  ].join('\n');
}

function stepLine({ name, state, summary }: Step, { good, bad, faint }: Styles): string {
  const mark = { ok: good('ok    '), failed: bad('ERROR '), skipped: faint('-     ') }[state];
  return `${mark}${name.padEnd(22)}${cleanLine(summary)}`;
}

/** Summarizes the applied revisions in one line. */
function describeRevisions({ claims, revision }: Report): string {
  if (revision === null) return 'revision unknown';
  const newest = claims.revisions.at(-1) ?? revision;
  if (claims.by !== 'evidence' || claims.revisions.length === 1)
    return `checked against revision ${claims.revisions.join(' and ')}`;
  return `checked against revision ${newest}, and for warnings against ${claims.revisions.slice(0, -1).join(' and ')}`;
}

function describeFinding(finding: Finding, { bold, faint }: Styles): readonly string[] {
  const { requirement, message, remedy, revisions, owner } = finding;
  const name = requirement === null ? '' : ` [${[requirement, ...revisions].join(', ')}]`;
  const fixedBy =
    owner === 'you' ? 'You can fix this' : owner === 'network' ? 'Network' : `The ${owner} has to fix this`;
  return [bold(cleanLine(message)) + faint(name), faint(`  ${fixedBy}: ${cleanLine(remedy)}`)];
}
