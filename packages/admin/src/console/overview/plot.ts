/** A plot over time: an SVG without scripts, its legend in words, and the table behind it. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { formatCount } from '../ui/parts.ts';

/** How a series is drawn: never told apart by colour alone. */
type Look = 'solid' | 'outline' | 'line' | 'dashed';

/** One series of a plot. */
export interface PlotSeries {
  readonly label: string;
  readonly look: Look;
  /** `null`: not known. */
  readonly values: readonly (number | null)[];
  /** Whether it counts what went wrong. */
  readonly isBad?: boolean;
}

/** A moment that is marked in every plot. */
export interface PlotMark {
  readonly label: string;
  /** From 0 to 1. */
  readonly position: number;
  /** What stands at its line. */
  readonly letter: string;
  readonly href: string;
}

export interface Plot {
  readonly title: string;
  /** Of all values; absent: counts. */
  readonly unit?: string;
  readonly series: readonly PlotSeries[];
  /** Begins of the points, and where their events are. */
  readonly points: readonly { readonly label: string; readonly href: string }[];
  readonly marks?: readonly PlotMark[];
}

const WIDTH = 480;
const HEIGHT = 96;

/** Renders a plot. */
export function plotMarkup({ title, unit = '', series, points, marks = [] }: Plot): Markup {
  const top = scaleOf(series);
  const bars = series.filter(({ look }) => look === 'solid' || look === 'outline');
  const lines = series.filter(({ look }) => look === 'line' || look === 'dashed');
  const last = points.length - 1;
  return html`<figure class="plot" data-plot>
<figcaption><h3>${title}</h3><ul>${series.map(({ label, look, isBad, values }) => html`<li class="${look}${isBad === true && ' bad'}"><span>${label}</span> <b data-value>${formatValue(summaryOf(look, values), unit)}</b></li>`)}</ul></figcaption>
<div class="axis"><span>${formatValue(top, unit)}</span></div>
${marks.length > 0 && html`<svg class="letters" height="13" aria-hidden="true" focusable="false">${letterGroups(marks).map(({ position, letter }) => html`<text x="${String(tenths(position * 100))}%" y="11">${letter}</text>`)}</svg>`}
<svg viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}" preserveAspectRatio="none" aria-hidden="true" focusable="false">
<path class="grid" d="M0 0.5H${String(WIDTH)}M0 ${String(HEIGHT / 2)}H${String(WIDTH)}M0 ${String(HEIGHT - 0.5)}H${String(WIDTH)}"/>
${barPaths(bars, top, points.length)}
${lines.map((one) => html`<path class="${one.look}${one.isBad === true && ' bad'}" d="${linePath(one.values, top)}"/>`)}
${marks.length > 0 && html`<path class="mark" d="${marks.map(({ position }) => `M${tenths(position * WIDTH)} 0V${HEIGHT}`).join('')}"/>`}
</svg>
<div class="times" aria-hidden="true"><span>${points[0]?.label}</span><span>${points[Math.floor(last / 2)]?.label}</span><span>${points[last]?.label}</span></div>
<details><summary>As a table<span class="unseen">: ${title}</span></summary><div class="scroll"><table><thead><tr><th scope="col">From (UTC)</th>${series.map(({ label }) => html`<th scope="col" class="number">${label}${unit !== '' && html` (${unit})`}</th>`)}</tr></thead>
<tbody>${points.map(
    (
      { label, href },
      index,
    ) => html`<tr><th scope="row"><a href="${href}">${label}</a></th>${series.map(({ values }) => html`<td>${formatValue(values[index] ?? null, '')}</td>`)}</tr>
`,
  )}</tbody></table></div></details>
</figure>`;
}

/** Part of the width within which letters would cover each other. */
const LETTER = 0.025;

/** Letters of marks that are close to each other stand side by side. */
function letterGroups(marks: readonly PlotMark[]): readonly Pick<PlotMark, 'position' | 'letter'>[] {
  const groups: { readonly position: number; letter: string }[] = [];
  for (const { position, letter } of marks) {
    const last = groups.at(-1);
    if (last !== undefined && position - last.position < LETTER * last.letter.length) last.letter += letter;
    else groups.push({ position, letter });
  }
  return groups;
}

/** What the legend shows: how many there were of what is counted, the latest of what is measured. */
function summaryOf(look: Look, values: PlotSeries['values']): number | null {
  const known = values.filter((value) => value !== null);
  if (look === 'line' || look === 'dashed') return known.at(-1) ?? null;
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

/** A value that is easy to read, and no value of which exceeds. */
export function scaleOf(series: readonly PlotSeries[]): number {
  const bars = series.filter(({ look }) => look === 'solid' || look === 'outline');
  const stacked = (bars[0]?.values ?? []).map((_, index) =>
    bars.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  );
  const lines = series
    .filter((one) => !bars.includes(one))
    .flatMap(({ values }) => values.map((value) => value ?? 0));
  const most = Math.max(0, ...stacked, ...lines);
  if (most <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const factor = [1, 2, 5, 10].find((one) => one * power >= most) ?? 10;
  return factor * power;
}

/** Stacked, the first below. */
function barPaths(bars: readonly PlotSeries[], top: number, count: number): Markup {
  const step = WIDTH / Math.max(1, count);
  const heights = new Array<number>(count).fill(0);
  return html`${bars.map(({ values, look, isBad }) => {
    const path = values.map((value, index) => {
      if (value === null || value === 0) return '';
      const height = Math.max(1, (value / top) * HEIGHT);
      const base = HEIGHT - (heights[index] ?? 0);
      heights[index] = (heights[index] ?? 0) + height;
      return `M${tenths(index * step + step * 0.12)} ${tenths(base)}v${tenths(-height)}h${tenths(step * 0.76)}v${tenths(height)}z`;
    });
    return html`<path class="${look}${isBad === true && ' bad'}" d="${path.join('')}"/>`;
  })}`;
}

/** With a gap where nothing is known. */
function linePath(values: readonly (number | null)[], top: number): string {
  const step = WIDTH / Math.max(1, values.length);
  let isOpen = false;
  return values
    .map((value, index) => {
      if (value === null) {
        isOpen = false;
        return '';
      }
      const [x, y] = [tenths((index + 0.5) * step), tenths(HEIGHT - (value / top) * (HEIGHT - 2) - 1)];
      const isAlone = !isOpen && values[index + 1] == null;
      const command = isAlone ? `M${tenths(x - 4)} ${y}H${tenths(x + 4)}` : `${isOpen ? 'L' : 'M'}${x} ${y}`;
      isOpen = !isAlone;
      return command;
    })
    .join('');
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function formatValue(value: number | null, unit: string): string {
  if (value === null) return '–';
  const text =
    value < 10 && !Number.isInteger(value)
      ? String(Number(value.toFixed(1)))
      : formatCount(Math.round(value));
  return unit === '' ? text : `${text} ${unit}`;
}
