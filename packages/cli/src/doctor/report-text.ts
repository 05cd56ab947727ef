/** Renders a report for a terminal, errors first; untrusted text is cleaned of control characters. */
import { cleanLine } from '../terminal/clean.ts';
import type { Styles } from '../terminal/terminal.ts';
import { errorsIn, type Finding, type Report } from './report.ts';

const FIXED_BY: Partial<Record<Finding['owner'], string>> = { you: 'You can fix this', network: 'Network' };

export function reportText(report: Report, { bold, faint, good, bad }: Styles): string {
  const marks = { ok: good('ok    '), failed: bad('ERROR '), skipped: faint('-     ') };
  const errors = errorsIn(report);
  const warnings = report.findings.filter((finding) => !errors.includes(finding));
  return [
    bold(cleanLine(report.server)),
    ...section('Errors', errors.flatMap(describeFinding)),
    ...section('Warnings', warnings.flatMap(describeFinding)),
    '',
    ...report.steps.map(({ state, name, summary }) => marks[state] + name.padEnd(22) + cleanLine(summary)),
    ...section(
      'Decisions',
      report.decisions.flatMap(({ about, choice, reason }) => [
        cleanLine(`${about}: ${choice}`),
        faint(`  ${cleanLine(reason)}`),
      ]),
    ),
    '',
    errors.length === 0
      ? good('No errors.')
      : bad(`${errors.length} ${errors.length === 1 ? 'error' : 'errors'}.`),
    '',
  ].join('\n');

  function section(title: string, lines: readonly string[]): readonly string[] {
    return lines.length === 0 ? [] : ['', bold(title), ...lines.map((line) => `  ${line}`)];
  }

  function describeFinding({ requirement, message, remedy, revisions, owner }: Finding): readonly string[] {
    const name = requirement === null ? '' : ` [${[requirement, ...revisions].join(', ')}]`;
    const fixedBy = FIXED_BY[owner] ?? `The ${owner} has to fix this`;
    return [bold(cleanLine(message)) + faint(name), faint(`  ${fixedBy}: ${cleanLine(remedy)}`)];
  }
}
