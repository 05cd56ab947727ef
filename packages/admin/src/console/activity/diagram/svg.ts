/** A sequence diagram as SVG, which has no script, no style of its own and no address in it. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { formatDuration, type PositionedMessage, positionMessages } from './layout.ts';
import { LANE_NAMES, type Lane, type SequenceDiagram } from './model.ts';
import { sequenceText } from './text.ts';

const WIDTH = 960;
const TOP = 56;
const LEFT = 84;

/** The drawing; its description is the same as text. */
export function sequenceSvg(diagram: SequenceDiagram): Markup {
  const { positioned, cuts, height } = positionMessages(diagram);
  const { lanes, messages } = diagram;
  const gap = lanes.length > 1 ? (WIDTH - 220) / (lanes.length - 1) : 0;
  const xOf = (lane: Lane) => LEFT + 60 + lanes.indexOf(lane) * gap;
  const first = messages[0]?.at ?? 0;
  const total = TOP + height + 16;
  return html`<svg xmlns="http://www.w3.org/2000/svg" class="sequence" font-family="system-ui, sans-serif" font-size="13" viewBox="0 0 ${String(WIDTH)} ${String(Math.ceil(total))}" role="img" aria-label="Sequence diagram of one authorization; the same as text is below">
<desc>${sequenceText(diagram)}</desc>
${lanes.map((lane) => html`<line class="life" x1="${xOf(lane)}" y1="40" x2="${xOf(lane)}" y2="${total}" stroke="currentColor" stroke-opacity="0.25" stroke-dasharray="3 4"/><text fill="currentColor" class="lane" x="${xOf(lane)}" y="24" text-anchor="middle" font-weight="600">${LANE_NAMES[lane]}</text>`)}
${cuts.map(({ y, duration }) => html`<line x1="${LEFT}" y1="${TOP + y}" x2="${WIDTH - 16}" y2="${TOP + y}" stroke="currentColor" stroke-opacity="0.4" stroke-dasharray="1 5"/><text class="time" font-size="11" x="${LEFT - 8}" y="${TOP + y + 4}" text-anchor="end">${formatDuration(duration)} later</text>`)}
${positioned.map((one) => arrow(one, xOf, first))}
</svg>`;
}

function arrow(
  { message, y, height }: PositionedMessage,
  xOf: (lane: Lane) => number,
  first: number,
): Markup {
  const { from, to, term, source, about, because, isRefused, at, duration } = message;
  const [x1, x2, top] = [xOf(from), xOf(to), TOP + y];
  const color = isRefused ? 'var(--bad, #b42318)' : 'currentColor';
  const isOwn = from === to;
  const isRight = x2 >= x1;
  const end = isRight ? x2 - 1 : x2 + 1;
  const tip = isRight ? end - 7 : end + 7;
  const below = [because || source, duration !== null && formatDuration(duration)]
    .filter(Boolean)
    .join(' · ');
  const label = [isRefused ? '✗' : '', term, about].filter((word) => word !== '').join(' ');
  return html`<g class="message${isRefused && ' refused'}"><title>${[label, source, because].filter((word) => word !== '').join(' · ')}</title>
<text class="time" font-size="11" x="${LEFT - 8}" y="${top + 4}" text-anchor="end">+${formatDuration(at - first)}</text>
${isOwn ? html`<circle cx="${x1}" cy="${top}" r="4" fill="${color}"/>` : html`<line x1="${x1}" y1="${top}" x2="${end}" y2="${top}" stroke="${color}" stroke-width="1.5"/><path d="M${tip} ${top - 4}L${end} ${top}L${tip} ${top + 4}z" fill="${color}"/>`}
${duration !== null && html`<rect x="${x2 - 3}" y="${top}" width="6" height="${height}" rx="1" fill="${color}" fill-opacity="0.35"/>`}
${labelOf({ class: 'term', size: 13, y: top - 6 }, label, [x1, x2], color)}
${labelOf({ class: 'source', size: 11, y: top + 14 }, below, [x1, x2], color)}</g>`;
}

interface TextLine {
  readonly class: 'term' | 'source';
  /** Pixels. */
  readonly size: number;
  readonly y: number;
}

/** A text in the middle of an arrow if it fits there; else from the end of the arrow that has more space beside it. */
function labelOf(
  { class: name, size, y }: TextLine,
  words: string,
  ends: readonly number[],
  color: string,
): Markup {
  const [left, right] = [Math.min(...ends), Math.max(...ends)];
  const width = [...words].length * size * 0.5;
  const isStart = left + right < WIDTH + LEFT;
  const [x, anchor, space] =
    width <= right - left
      ? [(left + right) / 2, 'middle', width]
      : isStart
        ? [left + 14, 'start', WIDTH - left - 14]
        : [right - 14, 'end', right - 14 - LEFT];
  return html`<text class="${name}" font-size="${size}" x="${x}" y="${y}" text-anchor="${anchor}" fill="${color}" fill-opacity="${name === 'term' ? 1 : 0.75}">${shorten(words, space / (size * 0.5))}</text>`;
}

/** @param width characters */
function shorten(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width
    ? text
    : `${characters.slice(0, Math.max(8, Math.floor(width) - 1)).join('')}…`;
}
