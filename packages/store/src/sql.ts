/** SQL as tagged templates: one text for both dialects, parsed once for each place in the source that writes it. */

/** What a column holds. */
export type Value = string | number | null | Uint8Array;

/** The fixed part of a query. One place in the source has one template, so prepared statements are kept by it. */
export interface Template {
  /** With `?` for each value. */
  readonly sqlite: string;
  /** With `$1`, `$2`, … */
  readonly postgres: string;
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

function parse(strings: readonly string[]): Template {
  return {
    sqlite: strings.join('?'),
    postgres: strings.reduce((text, part, index) => `${text}$${index}${part}`),
  };
}

/** A query without values whose text is put together at run time: for schemas only. */
export function literal(text: string): Query {
  return { template: { sqlite: text, postgres: text }, values: [] };
}
