/** Formats rows of text in aligned columns. */

export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    // Not as arguments of one call: their number is limited, and that of rows is not.
    rows.reduce((width, row) => Math.max(width, (row[column] ?? '').length), 0),
  );
  const line = (row: readonly string[]) =>
    row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}
