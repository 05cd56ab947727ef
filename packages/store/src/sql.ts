/** SQL as tagged templates: one text for both dialects, parsed once for each place in the source that writes it. */

/** What a column holds. */
export type Value = string | number | null | Uint8Array;

/** The fixed part of a query. One place in the source has one template, so prepared statements are kept by it. */
export interface Template {
  /** With `?` for each value. */
  readonly sqlite: string;
  /** With `$1`, `$2`, … */
  readonly postgres: string;
  /** Whether the rows that it answers only say how many were changed. */
  readonly counts: boolean;
}

export interface Query {
  readonly template: Template;
  readonly values: readonly Value[];
}

const templates = new WeakMap<TemplateStringsArray, Template>();

/** A query. Whatever stands in `${…}` is sent apart from the text and can never become SQL. */
export function sql(strings: TemplateStringsArray, ...values: readonly Value[]): Query {
  let template = templates.get(strings);
  if (template === undefined) {
    template = parse(strings);
    templates.set(strings, template);
  }
  return { template, values };
}

/** SQLite tells without it how many rows were changed, for half the price of returning them. */
const COUNT = /\s*RETURNING 1 AS one$/;

function parse(strings: readonly string[]): Template {
  const text = strings.join('?');
  return {
    sqlite: text.replace(COUNT, ''),
    postgres: strings.reduce((text, part, index) => `${text}$${index}${part}`),
    counts: COUNT.test(text),
  };
}

/** A query that is written with `?` for each value: for what several places say in the same words, put together once. */
export function defineQuery(text: string): (...values: readonly Value[]) => Query {
  const template = parse(text.split('?'));
  return (...values) => ({ template, values });
}

/** A statement that ends with the values of so many rows: what begins it, the values of each, what ends it. */
export function defineRows(before: string, columns: number, rows: number, after: string): Template {
  const row = `(${Array.from({ length: columns }, () => '?').join(', ')})`;
  const sqlite = `${before} ${Array.from({ length: rows }, () => row).join(', ')} ${after}`;
  let number = 0;
  return { sqlite, postgres: sqlite.replaceAll('?', () => `$${++number}`), counts: false };
}

/** A query without values whose text is put together at run time: for schemas only. */
export function literal(text: string): Query {
  return { template: { sqlite: text, postgres: text, counts: false }, values: [] };
}
