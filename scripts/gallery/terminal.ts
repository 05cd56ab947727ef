/** A terminal as a picture: real commands with what they printed. */
const FONT_SIZE = 14;
const LINE_HEIGHT = 20;
/** Width of a character of a monospaced font, as a share of its size. */
const ADVANCE = 0.602;
const MARGIN = 20;
const COLUMNS = 84;

export interface Recording {
  readonly command: string;
  readonly output: readonly string[];
}

/** An SVG whose text can be read, selected and searched. */
export function drawTerminal(recordings: readonly Recording[], title: string): string {
  const lines = recordings.flatMap(({ command, output }, index) => [
    ...(index === 0 ? [] : ['']),
    `$ ${command}`,
    ...output,
  ]);
  const rows = lines.flatMap(fold);
  const width = Math.ceil(COLUMNS * FONT_SIZE * ADVANCE) + 2 * MARGIN;
  const height = rows.length * LINE_HEIGHT + 2 * MARGIN;
  const texts = rows.map((row, index) => drawRow(row, MARGIN + FONT_SIZE + index * LINE_HEIGHT));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeText(title)}">
<style>text { font: ${FONT_SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #c9d4e8 } .command { fill: #ffffff; font-weight: 600 } .prompt { fill: #8fb2ff }</style>
<rect width="${width}" height="${height}" rx="12" fill="#10182b"/>
${texts.join('\n')}
</svg>
`;
}

function drawRow(row: string, y: number): string {
  const isCommand = row.startsWith('$ ');
  const text = isCommand
    ? `<tspan class="prompt">$</tspan><tspan class="command">${escapeText(row.slice(1))}</tspan>`
    : escapeText(row);
  return `<text x="${MARGIN}" y="${y}" xml:space="preserve">${text}</text>`;
}

/** Breaks a long line as a terminal does. */
function fold(line: string): readonly string[] {
  return line.length <= COLUMNS ? [line] : [line.slice(0, COLUMNS), ...fold(line.slice(COLUMNS))];
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
