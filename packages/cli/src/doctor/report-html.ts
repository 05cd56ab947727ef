/** Renders a report as one self-contained HTML page without scripts: findings, steps, decisions, sequence diagram and exchanges. */
import { escapeHtml, shortened } from './html.ts';
import { type Exchange, type Finding, hasIssues, type Report, type Step } from './report.ts';
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

/** Light and dark, wide and narrow screens, print. */
const REPORT_STYLE = `
:root { color-scheme: light dark; --text: #17212b; --soft: #55626f; --ground: #f6f7f9; --sheet: #fff; --line: #dde2e8; --ink: #2a5bd7; --inkwash: #e9effc;
--good: #146c38; --goodwash: #e3f3e8; --bad: #ac1626; --badwash: #fce8ea; --warn: #7a4f00; --warnwash: #fcf1dc }
@media (prefers-color-scheme: dark) { :root { --text: #e8edf2; --soft: #9daab7; --ground: #0f151b; --sheet: #18212a; --line: #2c3845; --ink: #8fb0ff; --inkwash: #1d2a45;
--good: #74d596; --goodwash: #16301f; --bad: #ff939c; --badwash: #3a1a1f; --warn: #ebbe6c; --warnwash: #352811 } }
* { box-sizing: border-box }
body { margin: 0; font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--text); background: var(--ground) }
main { max-width: 66rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .25rem 0 .5rem; overflow-wrap: anywhere }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem } p { margin: 0 } .soft, small { color: var(--soft) }
.over { font-size: .85rem; letter-spacing: .04em; color: var(--soft) }
.sheet { background: var(--sheet); border: 1px solid var(--line); border-radius: 12px; padding: 1.25rem }
.summary { display: flex; gap: .6rem 1rem; align-items: baseline; flex-wrap: wrap; margin-top: 1rem; padding: .9rem 1.25rem; border-radius: 12px; font-weight: 600 }
.summary small { font-weight: 400; color: inherit }
.good { color: var(--good) } .error { color: var(--bad) } .warning { color: var(--warn) }
.summary.good { background: var(--goodwash) } .summary.error { background: var(--badwash) } .summary.warning { background: var(--warnwash) }
ol.steps { list-style: none; margin: 0; display: grid; gap: .25rem }
ol.steps li { display: grid; grid-template-columns: 1.5rem 12rem 1fr; gap: .25rem .75rem; padding: .35rem 0; overflow-wrap: anywhere }
ol.steps b { font-weight: 600 } ol.steps svg { min-width: 0; width: 1.5rem; height: 1.5rem } ol.steps circle { fill: var(--ground); stroke: none } ol.steps path { fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round }
.ok svg { color: var(--good) } ol.steps .ok circle { fill: var(--goodwash) } .failed svg { color: var(--bad) } ol.steps .failed circle { fill: var(--badwash) } .skipped { color: var(--soft) }
.findings { display: grid; gap: .75rem } .finding { border-left: 4px solid var(--bad); } .finding.warning { border-left-color: var(--warn); color: inherit } .finding.error { color: inherit }
.finding h3 { font-size: 1rem; margin: 0 0 .35rem; overflow-wrap: anywhere } .finding p { overflow-wrap: anywhere } .finding .tags { margin-top: .6rem; display: flex; flex-wrap: wrap; gap: .4rem }
.tag { font-size: .8rem; padding: .05rem .55rem; border-radius: 999px; border: 1px solid var(--line); color: var(--soft) }
dl { margin: 0; display: grid; grid-template-columns: 12rem 1fr; gap: .75rem } dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere } dd small { display: block }
.scroll { overflow-x: auto } svg { display: block; width: 100%; min-width: 46rem; height: auto; font: 12.5px system-ui, sans-serif }
svg text { fill: var(--text) } svg .name { text-anchor: middle; font-weight: 600 } svg .head { fill: var(--inkwash); stroke: var(--line) }
svg .rule { stroke: var(--line) } svg .band { fill: var(--ground); stroke: var(--line) } svg .caption { font-size: 11.5px; font-weight: 600; fill: var(--soft) } svg .lifeline { stroke: var(--line); stroke-width: 1.5 } svg .number { fill: var(--ground); stroke: var(--line) } svg .digit { text-anchor: middle; font-size: 11px; fill: var(--soft) }
svg .request { paint-order: stroke; stroke: var(--sheet); stroke-width: 4px; stroke-linejoin: round } svg .method { font-weight: 600 } svg .sent { stroke: var(--soft); stroke-width: 1.4 } svg .received { stroke: var(--soft); stroke-dasharray: 5 4; stroke-width: 1.2 } svg .tip { fill: var(--soft); stroke: none }
svg .status { text-anchor: middle; font-size: 11.5px; font-weight: 600 } svg .chip { stroke: var(--sheet); stroke-width: 2 }
svg .good .chip { fill: var(--goodwash) } svg .good .status { fill: var(--good) } svg .redirect .chip { fill: var(--inkwash) } svg .redirect .status { fill: var(--ink) }
svg .rejection .chip { fill: var(--warnwash) } svg .rejection .status { fill: var(--warn) } svg .failure .chip { fill: var(--badwash) } svg .failure .status { fill: var(--bad) } svg .failure line { stroke: var(--bad) }
details { background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; margin: .4rem 0; padding: .5rem .9rem } summary { cursor: pointer; overflow-wrap: anywhere } summary:focus-visible { outline: 2px solid var(--ink); outline-offset: 3px }
pre { margin: .6rem 0 .3rem; padding: .75rem; border-radius: 8px; background: var(--ground); font: .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: .1rem } dd { margin-bottom: .8rem } ol.steps li { grid-template-columns: 1.5rem 1fr } ol.steps li > span { grid-column: 2 } .sheet { padding: 1rem } }
@media print { body { background: none } .sheet, details { break-inside: avoid } }
`;
