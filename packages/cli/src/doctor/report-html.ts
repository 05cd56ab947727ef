/** Renders a report as one self-contained HTML page without scripts: findings, steps, decisions, sequence diagram and exchanges. */
import { escapeHtml, shortened } from './html.ts';
import { type Exchange, type Finding, hasIssues, type Report, type Step } from './report.ts';
import { REPORT_STYLE } from './report-style.ts';
import { describeOwner, describeRevisions } from './report-text.ts';
import { drawSequence } from './sequence.ts';

export function reportHtml(report: Report): string {
  const { server, at, steps, decisions, findings, exchanges } = report;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Authorization of ${escapeHtml(server)}</title>
<style>${REPORT_STYLE}</style>
</head>
<body>
<main>
<p class="over">Authorization report</p>
<h1>${escapeHtml(server)}</h1>
<p class="soft">Examined ${escapeHtml(at.slice(0, 16).replace('T', ' '))} UTC, ${escapeHtml(describeRevisions(report))}.</p>
${summaryLine(report)}
${findingCards('Errors', findings, 'error')}
${findingCards('Warnings', findings, 'warning')}
<h2>Steps</h2>
<ol class="steps sheet">${steps.map(stepItem).join('')}</ol>
<h2>Decisions</h2>
<dl class="sheet">${decisions
    .map(
      ({ about, choice, reason }) =>
        `<dt>${escapeHtml(about)}</dt><dd>${escapeHtml(choice)}<small>${escapeHtml(reason)}</small></dd>`,
    )
    .join('')}</dl>
<h2>Sequence</h2>
<div class="sheet scroll" role="region" aria-label="Sequence" tabindex="0">${drawSequence(exchanges)}</div>
<h2>Exchanges</h2>
${exchanges.map(details).join('\n')}
</main>
</body>
</html>
`;
}

/** The headline: the numbers of errors and warnings. */
function summaryLine(report: Report): string {
  const errors = report.findings.filter(({ severity }) => severity === 'error').length;
  const warnings = report.findings.length - errors;
  const others = warnings === 0 ? '' : `<small>${countOf(warnings, 'warning')}</small>`;
  if (!hasIssues(report))
    return `<p class="summary ${warnings === 0 ? 'good' : 'warning'}">No errors ${others}</p>`;
  return `<p class="summary error">${countOf(errors, 'error')} ${others}</p>`;
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function findingCards(title: string, findings: readonly Finding[], wanted: Finding['severity']): string {
  const cards = findings.filter(({ severity }) => severity === wanted).map(findingCard);
  return cards.length === 0 ? '' : `<h2>${title}</h2><div class="findings">${cards.join('')}</div>`;
}

function findingCard(finding: Finding): string {
  const { requirement, severity, step, message, remedy, revisions } = finding;
  const tags = [step, ...(requirement === null ? [] : [requirement]), ...revisions];
  return `<section class="finding sheet ${severity}"><h3>${escapeHtml(message)}</h3>
<p><b>${escapeHtml(describeOwner(finding))}:</b> ${escapeHtml(remedy)}</p>
<p class="tags">${tags.map((tag) => `<span class="tag">${escapeHtml(tag)}</span>`).join('')}</p></section>`;
}

/** SVG paths, because not every font has these marks. */
const MARKS = { ok: 'm7 12.5 3.5 3.5L17 9', failed: 'M12 7v6m0 3.5v.1', skipped: 'M8 12h8' } as const;

function stepItem({ name, state, summary }: Step): string {
  return `<li class="${state}"><svg viewBox="0 0 24 24" role="img" aria-label="${state}"><circle cx="12" cy="12" r="12"/><path d="${MARKS[state]}"/></svg><b>${name}</b><span>${escapeHtml(summary)}</span></li>`;
}

function details(exchange: Exchange, index: number): string {
  const { method, url, status, milliseconds, requestHeaders, requestBody, headers, body } = exchange;
  const fields = (all: Readonly<Record<string, string>>) =>
    Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const sent = [`${method} ${url}`, ...fields(requestHeaders), '', requestBody].join('\n').trim();
  const received = [String(status ?? 'no response'), ...fields(headers), '', body].join('\n').trim();
  const title = `${index + 1}. ${method} ${shortened(url, 100)}`;
  return `<details><summary>${escapeHtml(title)} <small>${status ?? 'no response'}, ${milliseconds} ms</small></summary>
<pre>${escapeHtml(sent)}</pre>
<pre>${escapeHtml(received)}</pre></details>`;
}
