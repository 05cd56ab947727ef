/** SQL as tagged templates: one text for both databases, parsed once per template literal. */

/** A value of a column. */
export type Value = string | number | null | Uint8Array;

/** The fixed part of a query. Each template literal has one, which is the cache key of prepared statements. */
export interface Template {
  /** With `?` for each value. */
  readonly sqlite: string;
  /** With `$1`, `$2`, … */
  readonly postgres: string;
  /** Whether the rows that it returns only count changes. */
  readonly counts: boolean;
  /** PostgreSQL: not prepared, as its text may be another each time. */
  readonly isUnnamed?: true;
}

export interface Query {
  readonly template: Template;
  readonly values: readonly Value[];
}

const templates = new WeakMap<TemplateStringsArray, Template>();

/** A query. Values in `${…}` are parameters, never part of the SQL text: no SQL injection. */
export function sql(strings: TemplateStringsArray, ...values: readonly Value[]): Query {
  let template = templates.get(strings);
  if (template === undefined) {
    template = parse(strings);
    templates.set(strings, template);
  }
  return { template, values };
}

/** SQLite counts changed rows without it, for half the cost of returning them. */
const COUNT = /\s*RETURNING 1 AS one$/;
/** PostgreSQL: the rows of this table alone, without those of tables that inherit from it. */
const ONLY = /\bONLY (?=audit_events\b)/g;
/** PostgreSQL: waits for a change of the rows that it reads, and reads them as changed. SQLite has one writer. */
const LOCK = / FOR SHARE\b/g;

function parse(strings: readonly string[]): Template {
  const text = strings.join('?');
  return {
    sqlite: text.replace(COUNT, '').replace(ONLY, '').replace(LOCK, ''),
    postgres: strings.reduce((text, part, index) => `${text}$${index}${part}`),
    counts: COUNT.test(text),
  };
}

/** A query with `?` for each value: for text that is composed once. */
export function defineQuery(text: string): (...values: readonly Value[]) => Query {
  const template = defineTemplate(text);
  return (...values) => ({ template, values });
}

/** The same, for values that are a list already. */
export function defineTemplate(text: string): Template {
  return parse(text.split('?'));
}

/** A statement with the values of many rows between `before` and `after`. */
export function defineRows(before: string, columns: number, rows: number, after: string): Template {
  const row = `(${Array.from({ length: columns }, () => '?').join(', ')})`;
  const sqlite = `${before} ${Array.from({ length: rows }, () => row).join(', ')} ${after}`;
  let number = 0;
  return { sqlite, postgres: sqlite.replaceAll('?', () => `$${++number}`), counts: false };
}

/** A query without values, composed at run time: for schemas only. */
export function literal(text: string): Query {
  return { template: { sqlite: text, postgres: text, counts: false, isUnnamed: true }, values: [] };
}
