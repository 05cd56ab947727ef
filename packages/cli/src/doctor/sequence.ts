/** Draws the exchanges as a sequence diagram. */
import { escapeHtml, shortened } from './html.ts';
import type { Exchange, Party, StepName } from './report.ts';

interface Lifeline {
  readonly party: Party | 'client';
  readonly x: number;
  readonly name: string;
}

const CLIENT: Lifeline = { party: 'client', x: 84, name: 'client' };
const SERVER: Lifeline = { party: 'server', x: 452, name: 'MCP server' };
const ISSUER: Lifeline = { party: 'authorization server', x: 820, name: 'authorization server' };
const LIFELINES: readonly Lifeline[] = [CLIENT, SERVER, ISSUER];

const WIDTH = 904;
/** Top of the first row, and height of a row. */
const TOP = 70;
const ROW = 50;
/** Height of a step's caption. */
const CAPTION = 38;

/** An exchange with its position; `caption`: set on the first exchange of a step. */
interface Row {
  readonly exchange: Exchange;
  readonly index: number;
  readonly y: number;
  readonly caption: StepName | null;
}

/** Renders SVG that uses the colours of the page. */
export function drawSequence(exchanges: readonly Exchange[]): string {
  const rows = placeRows(exchanges);
  const height = (rows.at(-1)?.y ?? TOP) + ROW;
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${exchanges.length} exchanges in order">
<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="tip" d="M0 1 10 5 0 9z"/></marker></defs>
${[...LIFELINES.map((lifeline) => drawLifeline(lifeline, height)), ...rows.map(drawRow)].join('\n')}
</svg>`;
}

function placeRows(exchanges: readonly Exchange[]): readonly Row[] {
  let y = TOP;
  return exchanges.map((exchange, index) => {
    const caption = exchange.step === exchanges[index - 1]?.step ? null : exchange.step;
    y += index === 0 ? CAPTION : ROW + (caption === null ? 0 : CAPTION);
    return { exchange, index, y, caption };
  });
}

function drawLifeline({ x, name }: Lifeline, height: number): string {
  return `<line class="lifeline" x1="${x}" y1="40" x2="${x}" y2="${height}"/>
<rect class="head" x="${x - 78}" y="6" width="156" height="32" rx="8"/><text class="name" x="${x}" y="27">${name}</text>`;
}

function drawRow({ exchange: { party, method, url, status }, index, y, caption }: Row): string {
  const from = CLIENT.x;
  const to = (LIFELINES.find((lifeline) => lifeline.party === party) ?? ISSUER).x;
  const kind = kindOf(status);
  const response = status === null ? 'no response' : String(status);
  return `${caption === null ? '' : drawCaption(caption, y)}<g class="${kind}"><title>${escapeHtml(`${method} ${shortened(url, 200)}: ${response}`)}</title>
<circle class="number" cx="${from - 34}" cy="${y + 6}" r="11"/><text class="digit" x="${from - 34}" y="${y + 10}">${index + 1}</text>
<text class="request" x="${from + 12}" y="${y - 6}"><tspan class="method">${escapeHtml(method)}</tspan> ${escapeHtml(pathOf(url))}</text>
<line class="sent" x1="${from}" y1="${y}" x2="${to}" y2="${y}" marker-end="url(#tip)"/>
<line class="received" x1="${to}" y1="${y + 18}" x2="${from}" y2="${y + 18}" marker-end="url(#tip)"/>
<rect class="chip" x="${to - 26 - response.length * 8}" y="${y + 9}" width="${response.length * 8 + 14}" height="18" rx="9"/><text class="status" x="${to - 19 - response.length * 4}" y="${y + 22}">${response}</text></g>`;
}

function drawCaption(step: StepName, y: number): string {
  const line = y - CAPTION + 2;
  return `<line class="rule" x1="0" y1="${line - 5}" x2="${WIDTH}" y2="${line - 5}"/><rect class="band" x="0" y="${line - 17}" width="${step.length * 7.2 + 24}" height="22" rx="11"/><text class="caption" x="12" y="${line - 1}">${step}</text>`;
}

/** Maps a status to its style. A 4xx is often expected, so it is not shown as a failure. */
function kindOf(status: number | null): 'good' | 'redirect' | 'rejection' | 'failure' {
  if (status === null || status >= 500) return 'failure';
  if (status >= 400) return 'rejection';
  return status >= 300 ? 'redirect' : 'good';
}

function pathOf(url: string): string {
  return shortened(URL.parse(url)?.pathname ?? url, 50);
}
