/** A report for a terminal. Whatever a server wrote is cleaned before it is shown. */
import { cleanLine } from '../terminal/clean.ts';
import type { Styles } from '../terminal/terminal.ts';
import { type Finding, hasIssues, type Report, type Step } from './report.ts';

export function reportText(report: Report, styles: Styles): string {
  const { server, steps, decisions, findings } = report;
  const issues = findings.filter(({ gravity }) => gravity === 'fault');
  const advice = findings.filter(({ gravity }) => gravity === 'advice');
  return [
    styles.bold(cleanLine(server)),
    describeJudgement(report),
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
    ...section(
      'Wrong',
      issues.flatMap((finding) => findingLines(finding, styles)),
      styles,
    ),
    ...section(
      'Could be better',
      advice.flatMap((finding) => findingLines(finding, styles)),
      styles,
    ),
    '',
    hasIssues(report) ? styles.bad(`${issues.length} wrong.`) : styles.good('Nothing is wrong.'),
    '',
  ].join('\n');
}

const MARKS = { well: 'ok    ', faulty: 'WRONG ', skipped: '-     ' } as const;

function stepLine({ name, state, summary }: Step, styles: Styles): string {
  const colour = state === 'well' ? styles.good : state === 'faulty' ? styles.bad : styles.faint;
  return `${colour(MARKS[state])}${name.padEnd(22)}${cleanLine(summary)}`;
}

/** By what a server was judged, in one line. */
export function describeJudgement({ claims, revision }: Pick<Report, 'claims' | 'revision'>): string {
  if (revision === null) return 'no revision could be told';
  const newest = claims.revisions.at(-1) ?? revision;
  if (claims.by !== 'evidence' || claims.revisions.length === 1)
    return `judged by revision ${claims.revisions.join(' and ')}`;
  return `judged by revision ${newest}, with a look at ${claims.revisions.slice(0, -1).join(' and ')}`;
}

/** Who has to do something about it. */
export function whoMends({ owner }: Finding): string {
  if (owner === 'you') return 'You can mend it';
  return owner === 'network' ? 'On the way there' : `The ${owner} has to mend it`;
}

function findingLines(finding: Finding, styles: Styles): readonly string[] {
  const { requirement, what, remedy, revisions } = finding;
  const name = requirement === null ? '' : ` [${[requirement, ...revisions].join(', ')}]`;
  return [cleanLine(what) + styles.bold(name), styles.faint(`  ${whoMends(finding)}: ${cleanLine(remedy)}`)];
}

function section(title: string, lines: readonly string[], { bold }: Styles): readonly string[] {
  return lines.length === 0 ? [] : ['', bold(title), ...lines.map((line) => `  ${line}`)];
}
