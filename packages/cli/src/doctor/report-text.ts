/** A report for a terminal. Whatever a server wrote is cleaned before it is shown. */
import { cleanLine } from '../terminal/clean.ts';
import type { Styles } from '../terminal/terminal.ts';
import { type Finding, hasFaults, type Report, type Step } from './report.ts';

export function reportText(report: Report, styles: Styles): string {
  const { server, steps, decisions, findings, revision } = report;
  const faults = findings.filter(({ gravity }) => gravity === 'fault');
  const advice = findings.filter(({ gravity }) => gravity === 'advice');
  return [
    styles.bold(cleanLine(server)),
    revision === null ? 'no revision could be told' : `judged by revision ${revision}`,
    '',
    ...steps.map((step) => stepLine(step, styles)),
    ...section(
      'Decisions',
      decisions.flatMap(({ about, choice, reason }) => [`${about}: ${choice}`, styles.faint(`  ${reason}`)]),
      styles,
    ),
    ...section(
      'Wrong',
      faults.flatMap((finding) => findingLines(finding, styles)),
      styles,
    ),
    ...section(
      'Could be better',
      advice.flatMap((finding) => findingLines(finding, styles)),
      styles,
    ),
    '',
    hasFaults(report) ? styles.bad(`${faults.length} wrong.`) : styles.good('Nothing is wrong.'),
    '',
  ].join('\n');
}

const MARKS = { well: 'ok    ', faulty: 'WRONG ', skipped: '-     ' } as const;

function stepLine({ name, state, summary }: Step, styles: Styles): string {
  const colour = state === 'well' ? styles.good : state === 'faulty' ? styles.bad : styles.faint;
  return `${colour(MARKS[state])}${name.padEnd(22)}${cleanLine(summary)}`;
}

function findingLines({ requirement, owner, what, remedy }: Finding, styles: Styles): readonly string[] {
  const name = requirement === null ? '' : ` [${requirement}]`;
  const whose =
    owner === 'you'
      ? 'You can mend it'
      : owner === 'network'
        ? 'On the way there'
        : `The ${owner} has to mend it`;
  return [cleanLine(what) + styles.bold(name), styles.faint(`  ${whose}: ${cleanLine(remedy)}`)];
}

function section(title: string, lines: readonly string[], { bold }: Styles): readonly string[] {
  return lines.length === 0 ? [] : ['', bold(title), ...lines.map((line) => `  ${line}`)];
}
