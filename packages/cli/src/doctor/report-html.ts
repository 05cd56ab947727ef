/** A report as one page that loads nothing and runs nothing: what is wrong, the sequence drawn, what was decided, every exchange. */
import { escapeHtml, shortened } from './html.ts';
import { type Exchange, type Finding, hasIssues, type Report, type Step } from './report.ts';
import { REPORT_STYLE } from './report-style.ts';
import { describeJudgement, whoMends } from './report-text.ts';
import { drawSequence } from './sequence.ts';

export function reportHtml(report: Report): string {
  const { server, at, steps, decisions, findings, exchanges } = report;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>How ${escapeHtml(server)} is authorized</title>
<style>${REPORT_STYLE}</style>
</head>
<body>
<main>
<p class="over">How it is authorized</p>
<h1>${escapeHtml(server)}</h1>
<p class="soft">Examined ${escapeHtml(at.slice(0, 16).replace('T', ' '))} UTC, ${escapeHtml(describeJudgement(report))}.</p>
${verdict(report)}
${findingCards('What is wrong', findings, 'fault')}
${findingCards('What could be better', findings, 'advice')}
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

/** The first thing that is read. */
function verdict(report: Report): string {
  const issues = report.findings.filter(({ gravity }) => gravity === 'fault').length;
  const advice = report.findings.length - issues;
  const better = advice === 0 ? '' : `<small>${advice} could be better</small>`;
  if (!hasIssues(report))
    return `<p class="verdict ${advice === 0 ? 'good' : 'advice'}">Nothing is wrong ${better}</p>`;
  return `<p class="verdict fault">${issues === 1 ? 'One thing is' : `${issues} things are`} wrong ${better}</p>`;
}

function findingCards(title: string, findings: readonly Finding[], wanted: Finding['gravity']): string {
  const cards = findings.filter(({ gravity }) => gravity === wanted).map(findingCard);
  return cards.length === 0 ? '' : `<h2>${title}</h2><div class="findings">${cards.join('')}</div>`;
}

function findingCard(finding: Finding): string {
  const { requirement, gravity, step, what, remedy, revisions } = finding;
  const tags = [step, ...(requirement === null ? [] : [requirement]), ...revisions];
  return `<section class="finding sheet ${gravity}"><h3>${escapeHtml(what)}</h3>
<p><b>${escapeHtml(whoMends(finding))}:</b> ${escapeHtml(remedy)}</p>
<p class="tags">${tags.map((tag) => `<span class="tag">${escapeHtml(tag)}</span>`).join('')}</p></section>`;
}

/** Drawn, because not every font has them. */
const MARKS = { well: 'm7 12.5 3.5 3.5L17 9', faulty: 'M12 7v6m0 3.5v.1', skipped: 'M8 12h8' } as const;

function stepItem({ name, state, summary }: Step): string {
  return `<li class="${state}"><svg viewBox="0 0 24 24" role="img" aria-label="${state}"><circle cx="12" cy="12" r="12"/><path d="${MARKS[state]}"/></svg><b>${name}</b><span>${escapeHtml(summary)}</span></li>`;
}

function details(exchange: Exchange, index: number): string {
  const { method, url, status, milliseconds, requestHeaders, requestBody, headers, body } = exchange;
  const fields = (all: Readonly<Record<string, string>>) =>
    Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const asked = [`${method} ${url}`, ...fields(requestHeaders), '', requestBody].join('\n').trim();
  const told = [String(status ?? 'no answer'), ...fields(headers), '', body].join('\n').trim();
  const title = `${index + 1}. ${method} ${shortened(url, 100)}`;
  return `<details><summary>${escapeHtml(title)} <small>${status ?? 'no answer'}, ${milliseconds} ms</small></summary>
<pre>${escapeHtml(asked)}</pre>
<pre>${escapeHtml(told)}</pre></details>`;
}
