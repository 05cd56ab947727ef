/** Parses JSON without loss: `JSON.stringify` writes each number of the result as it was written. */
export function parseExactly(text: string): unknown {
  const { parse, rawJSON } = JSON as unknown as {
    parse(text: string, revive: unknown): unknown;
    rawJSON(text: string): unknown;
  };
  return parse(text, (_name: string, value: unknown, { source }: { readonly source?: string }) =>
    typeof value === 'number' && source !== undefined ? rawJSON(source) : value,
  );
}
