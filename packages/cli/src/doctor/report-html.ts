/** A report as one page that loads nothing and runs nothing: the sequence drawn, what was decided, what is wrong, every exchange. */
import { cleanText } from '../terminal/clean.ts';
import type { Exchange, Finding, Party, Report } from './report.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
};

/** Text as HTML. */
function escapeHtml(text: string): string {
  return cleanText(text).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c2733; background: #fff }
h1 { font-size: 1.4rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; overflow-wrap: anywhere }
th { white-space: nowrap } .well { color: #14692f } .faulty, .fault { color: #a11222 } .skipped { color: #5b6773 } .advice { color: #7a5200 }
pre { background: #f3f5f7; padding: .6rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere }
svg { width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: currentColor }
svg line, svg path { stroke: currentColor; fill: none } svg .life { stroke-dasharray: 3 4; opacity: .5 } svg .bad { color: #a11222 }
@media (prefers-color-scheme: dark) { body { color: #e6ebf0; background: #12181f } pre { background: #1d2630 }
.well { color: #6fd08c } .faulty, .fault, svg .bad { color: #ff8b94 } .advice { color: #e5b567 } .skipped { color: #9aa7b4 } }
`;

export function reportHtml(report: Report): string {
  const { server, at, revision, steps, decisions, findings, exchanges } = report;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(server)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(server)}</h1>
<p>Examined ${escapeHtml(at)}, judged by revision ${escapeHtml(revision ?? 'unknown')}.</p>
<h2>Steps</h2>
<table>${steps
    .map(({ name, state, summary }) =>
      row(`<span class="${state}">${name}</span>`, escapeHtml(`${state}: ${summary}`)),
    )
    .join('')}</table>
<h2>What is wrong</h2>
${findings.length === 0 ? '<p class="well">Nothing.</p>' : `<table>${findings.map(findingRow).join('')}</table>`}
<h2>Sequence</h2>
${sequence(exchanges)}
<h2>Decisions</h2>
<table>${decisions
    .map(({ about, choice, reason }) => row(about, `${escapeHtml(choice)}<br>${escapeHtml(reason)}`))
    .join('')}</table>
<h2>Exchanges</h2>
${exchanges.map(details).join('\n')}
</main>
</body>
</html>
`;
}

function row(head: string, cell: string): string {
  return `<tr><th scope="row">${head}</th><td>${cell}</td></tr>`;
}

function findingRow({ requirement, gravity, owner, what, remedy }: Finding): string {
  const head = `<span class="${gravity}">${escapeHtml(requirement ?? gravity)}</span>`;
  return row(head, `${escapeHtml(what)}<br>${escapeHtml(owner)}: ${escapeHtml(remedy)}`);
}

function details(exchange: Exchange, index: number): string {
  const { method, url, status, milliseconds, requestHeaders, requestBody, headers, body } = exchange;
  const fields = (all: Readonly<Record<string, string>>) =>
    Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const asked = [`${method} ${url}`, ...fields(requestHeaders), '', requestBody].join('\n').trim();
  const told = [String(status ?? 'no answer'), ...fields(headers), '', body].join('\n').trim();
  return `<details><summary>${index + 1}. ${escapeHtml(method)} ${escapeHtml(shortened(url))}: ${status ?? 'no answer'}, ${milliseconds} ms</summary>
<pre>${escapeHtml(asked)}</pre>
<pre>${escapeHtml(told)}</pre></details>`;
}

const LIVES: readonly (readonly [Party | 'client', number, string])[] = [
  ['client', 90, 'client'],
  ['server', 450, 'MCP server'],
  ['authorization server', 790, 'authorization server'],
];

const ROW = 44;

/** An arrow there and one back for each exchange. */
function sequence(exchanges: readonly Exchange[]): string {
  const height = 50 + exchanges.length * ROW;
  const lives = LIVES.map(
    ([, x, name]) =>
      `<text x="${x}" y="18" text-anchor="middle">${name}</text><line class="life" x1="${x}" y1="26" x2="${x}" y2="${height}"/>`,
  );
  return `<svg viewBox="0 0 900 ${height + 10}" role="img" aria-label="The exchanges in their order">
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8"/></marker></defs>
${[...lives, ...exchanges.map(arrows)].join('\n')}
</svg>`;
}

function arrows({ party, method, url, status }: Exchange, index: number): string {
  const from = xOf('client');
  const to = xOf(party);
  const y = 50 + index * ROW;
  const bad = status === null || status >= 500 ? ' class="bad"' : '';
  return `<g${bad}><text x="${from + 8}" y="${y - 4}">${index + 1}. ${escapeHtml(method)} ${escapeHtml(pathOf(url))}</text>
<line x1="${from}" y1="${y}" x2="${to}" y2="${y}" marker-end="url(#tip)"/>
<line x1="${to}" y1="${y + 16}" x2="${from}" y2="${y + 16}" stroke-dasharray="5 3" marker-end="url(#tip)"/>
<text x="${to - 8}" y="${y + 13}" text-anchor="end">${status ?? 'no answer'}</text></g>`;
}

function xOf(party: Party | 'client'): number {
  return LIVES.find(([name]) => name === party)?.[1] ?? 790;
}

function pathOf(url: string): string {
  return shortened(URL.parse(url)?.pathname ?? url, 46);
}

function shortened(text: string, most = 100): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
