/** Bar charts as SVG, readable on light and dark pages. */

interface Bar {
  readonly name: string;
  readonly value: number;
  /** Ours has the colour of the brand, peers are grey. */
  readonly ours: boolean;
}

export interface BarGroup {
  readonly label: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 480;
const LABEL = 196;
const VALUE = 76;
const LINE = 22;
const HEADING = 30;
const TEXT = '#78808c';

/** @param unit follows each value. Every group has a scale of its own: the longest bar is its largest value. */
export function barChart(title: string, unit: string, groups: readonly BarGroup[]): string {
  let y = 0;
  const lines: string[] = [];
  for (const { label, bars } of groups) {
    y += HEADING;
    lines.push(`<text x="0" y="${y - 8}" font-weight="600">${escapeText(label)}</text>`);
    const largest = Math.max(...bars.map(({ value }) => value));
    for (const { name, value, ours } of bars) {
      const width = Math.max(2, Math.round(((WIDTH - LABEL - VALUE) * value) / largest));
      lines.push(
        `<text x="0" y="${y + 15}">${escapeText(name)}</text>`,
        `<rect x="${LABEL}" y="${y + 3}" width="${width}" height="${LINE - 6}" rx="3" fill="${ours ? '#3d6fe0' : '#a3abb8'}"/>`,
        `<text x="${LABEL + width + 6}" y="${y + 15}">${value.toLocaleString('en')} ${unit}</text>`,
      );
      y += LINE;
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 4}" width="${WIDTH}" role="img" font-family="system-ui, sans-serif" font-size="13" fill="${TEXT}"><title>${escapeText(title)}</title>
${lines.join('\n')}
</svg>
`;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
