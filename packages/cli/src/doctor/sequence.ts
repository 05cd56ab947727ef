/** The exchanges drawn in their order: who asked whom, for what, and what came back. */
import { escapeHtml, shortened } from './html.ts';
import type { Exchange, Party, StepName } from './report.ts';

interface Life {
  readonly party: Party | 'client';
  readonly x: number;
  readonly name: string;
}

const CLIENT: Life = { party: 'client', x: 84, name: 'client' };
const SERVER: Life = { party: 'server', x: 452, name: 'MCP server' };
const ISSUER: Life = { party: 'authorization server', x: 820, name: 'authorization server' };
const LIVES: readonly Life[] = [CLIENT, SERVER, ISSUER];

const WIDTH = 904;
/** Where the first row is, and how far the next is below it. */
const TOP = 70;
const ROW = 50;
/** Room for the name of a step. */
const CAPTION = 38;

/** An exchange with its place; `caption`: a step begins with it. */
interface Row {
  readonly exchange: Exchange;
  readonly index: number;
  readonly y: number;
  readonly caption: StepName | null;
}

/** The drawing as SVG, in the colours of the page around it. */
export function drawSequence(exchanges: readonly Exchange[]): string {
  const rows = placeRows(exchanges);
  const height = (rows.at(-1)?.y ?? TOP) + ROW;
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${exchanges.length} exchanges in their order">
<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="tip" d="M0 1 10 5 0 9z"/></marker></defs>
${[...LIVES.map((life) => drawLife(life, height)), ...rows.map(drawRow)].join('\n')}
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

function drawLife({ x, name }: Life, height: number): string {
  return `<line class="life" x1="${x}" y1="40" x2="${x}" y2="${height}"/>
<rect class="head" x="${x - 78}" y="6" width="156" height="32" rx="8"/><text class="name" x="${x}" y="27">${name}</text>`;
}

function drawRow({ exchange: { party, method, url, status }, index, y, caption }: Row): string {
  const from = CLIENT.x;
  const to = (LIVES.find((life) => life.party === party) ?? ISSUER).x;
  const kind = kindOf(status);
  const answer = status === null ? 'no answer' : String(status);
  return `${caption === null ? '' : drawCaption(caption, y)}<g class="${kind}"><title>${escapeHtml(`${method} ${shortened(url, 200)}: ${answer}`)}</title>
<circle class="number" cx="${from - 34}" cy="${y + 6}" r="11"/><text class="digit" x="${from - 34}" y="${y + 10}">${index + 1}</text>
<text class="asked" x="${from + 12}" y="${y - 6}"><tspan class="method">${escapeHtml(method)}</tspan> ${escapeHtml(pathOf(url))}</text>
<line class="ask" x1="${from}" y1="${y}" x2="${to}" y2="${y}" marker-end="url(#tip)"/>
<line class="answer" x1="${to}" y1="${y + 18}" x2="${from}" y2="${y + 18}" marker-end="url(#tip)"/>
<rect class="chip" x="${to - 26 - answer.length * 8}" y="${y + 9}" width="${answer.length * 8 + 14}" height="18" rx="9"/><text class="status" x="${to - 19 - answer.length * 4}" y="${y + 22}">${answer}</text></g>`;
}

function drawCaption(step: StepName, y: number): string {
  const line = y - CAPTION + 2;
  return `<line class="rule" x1="0" y1="${line - 5}" x2="${WIDTH}" y2="${line - 5}"/><rect class="band" x="0" y="${line - 17}" width="${step.length * 7.2 + 24}" height="22" rx="11"/><text class="caption" x="12" y="${line - 1}">${step}</text>`;
}

/** How an answer looks: a refusal is a part of many good ways. */
function kindOf(status: number | null): 'good' | 'onward' | 'refusal' | 'broken' {
  if (status === null || status >= 500) return 'broken';
  if (status >= 400) return 'refusal';
  return status >= 300 ? 'onward' : 'good';
}

function pathOf(url: string): string {
  return shortened(URL.parse(url)?.pathname ?? url, 50);
}
