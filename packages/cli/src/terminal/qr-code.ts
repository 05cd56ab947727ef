/** QR codes of half-block characters, for opening a URL with a phone camera. */

/** Explicit black and white, regardless of the terminal's colours: scanners expect dark modules on a light background. */
const COLOURS = '\x1b[97;40m';
const RESET = '\x1b[0m';

/** Quiet zone in modules. The standard requires four; scanners of screens accept two. */
const BORDER = 2;

/** A longer URL would require a code that hardly any camera reads: authorization requests have up to a thousand characters. */
const LONGEST = 1_200;

/**
 * Draws a text as a QR code.
 * @param columns of the terminal
 * @returns lines of text with colours; `null` if the code is wider than the terminal
 */
export async function drawQrCode(text: string, columns: number): Promise<string | null> {
  if (text.length > LONGEST) return null;
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { border: BORDER });
  if (size > columns) return null;
  const lines: string[] = [];
  for (let row = 0; row < size; row += 2) {
    const cells = (data[row] ?? []).map((isDark, column) => cellOf(isDark, data[row + 1]?.[column] ?? true));
    lines.push(`${COLOURS}${cells.join('')}${RESET}`);
  }
  return lines.join('\n');
}

/** Two modules, one above the other. */
function cellOf(isTopDark: boolean, isBottomDark: boolean): string {
  if (isTopDark) return isBottomDark ? ' ' : '▄';
  return isBottomDark ? '▀' : '█';
}
