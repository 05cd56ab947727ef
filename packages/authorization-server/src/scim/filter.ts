/** SCIM filters: parsed within bounds, and evaluated on the attributes of a resource. @see RFC 7644 §3.4.2.2 */
import { toNfkc } from '@portcullis/protocol';
import {
  type Attribute,
  type AttributePath,
  attributesOf,
  findAttribute,
  type ResourceType,
  readAttributePath,
} from './schema.ts';
import { ScimError } from './scim-error.ts';

const COMPARISONS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;

type Literal = string | number | boolean | null;

/** A comparison of an attribute with a value. */
export interface Comparison {
  readonly op: (typeof COMPARISONS)[number];
  readonly path: AttributePath;
  readonly value: Literal;
}

export type Filter =
  | Comparison
  | { readonly op: 'pr'; readonly path: AttributePath }
  /** Some value of a multi-valued attribute meets the filter, whose paths are its sub-attributes. */
  | { readonly op: 'some'; readonly path: AttributePath; readonly filter: Filter }
  | { readonly op: 'not'; readonly filter: Filter }
  | { readonly op: 'and' | 'or'; readonly filters: readonly Filter[] };

const MAX_LENGTH = 2000;
const MAX_DEPTH = 10;
const MAX_TERMS = 50;

const invalid = (detail: string) => new ScimError(400, 'invalidFilter', detail);

/** Words, texts in quotes, and brackets. */
const TOKEN = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/y;

function readTokens(text: string): readonly string[] {
  if (text.length > MAX_LENGTH) throw invalid(`A filter has at most ${MAX_LENGTH} characters.`);
  const tokens: string[] = [];
  const written = text.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < written.length) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(written);
    if (found === null) throw invalid(`The filter cannot be read from character ${at + 1} on.`);
    tokens.push(found[1] ?? found[2] ?? found[3] ?? '');
  }
  return tokens;
}

/** Precedence: grouping, `not`, `and`, `or`. @throws ScimError `invalidFilter` */
export function parseFilter(text: string, type: ResourceType): Filter {
  const tokens = readTokens(text);
  let next = 0;
  let terms = 0;
  const peek = () => tokens[next]?.toLowerCase();
  const take = () => {
    const token = tokens[next];
    if (token === undefined) throw invalid('The filter ends too early.');
    next += 1;
    return token;
  };
  const expect = (token: string) => {
    if (take() !== token) throw invalid(`The filter lacks ${token} before its token ${next}.`);
  };
  const parseList = (op: 'or' | 'and', depth: number, item: (depth: number) => Filter): Filter => {
    const filters = [item(depth)];
    while (peek() === op) {
      next += 1;
      filters.push(item(depth));
    }
    return filters.length === 1 && filters[0] !== undefined ? filters[0] : { op, filters };
  };
  const parseOr = (depth: number): Filter => {
    if (depth > MAX_DEPTH) throw invalid(`A filter nests at most ${MAX_DEPTH} levels deep.`);
    return parseList('or', depth, (level) => parseList('and', level, parseTerm));
  };
  const parseGroup = (depth: number, close: ')' | ']'): Filter => {
    const filter = parseOr(depth + 1);
    expect(close);
    return filter;
  };
  const readPath = (token: string): AttributePath => {
    const path = readAttributePath(token, type);
    if (path !== null) return path;
    throw invalid(`The filter has ${JSON.stringify(token)} where an attribute is expected.`);
  };
  const parseComparison = (name: string): Filter => {
    const path = readPath(name);
    const op = take().toLowerCase();
    if (op === 'pr') return { op, path };
    const comparison = COMPARISONS.find((one) => one === op);
    if (comparison === undefined) throw invalid(`The filter has no operator ${JSON.stringify(op)}.`);
    return { op: comparison, path, value: readLiteral(take()) };
  };
  /** Microsoft Entra ID looks users up by `emails[type eq "work"].value eq "…"`: both apply to the same value. */
  const parseSub = (path: AttributePath, filter: Filter): Filter => {
    if (peek()?.startsWith('.') !== true) return { op: 'some', path, filter };
    const filters = [filter, parseComparison(take().slice(1))];
    return { op: 'some', path, filter: { op: 'and', filters } };
  };
  const parseTerm = (depth: number): Filter => {
    terms += 1;
    if (terms > MAX_TERMS) throw invalid(`A filter has at most ${MAX_TERMS} comparisons.`);
    const token = take();
    if (token === '(') return parseGroup(depth, ')');
    if (token.toLowerCase() === 'not' && peek() === '(') {
      next += 1;
      return { op: 'not', filter: parseGroup(depth, ')') };
    }
    if (peek() !== '[') return parseComparison(token);
    next += 1;
    return parseSub(readPath(token), parseGroup(depth, ']'));
  };
  const filter = parseOr(0);
  if (next < tokens.length) throw invalid(`The filter continues after its end, at token ${next + 1}.`);
  return filter;
}

/** A JSON literal. Some services write `True`. */
function readLiteral(token: string): Literal {
  if (/^(?:true|false|null)$/i.test(token)) return JSON.parse(token.toLowerCase()) as Literal;
  try {
    const value: unknown = JSON.parse(token);
    if (typeof value === 'number' || (typeof value === 'string' && isStorable(value))) return value;
  } catch {
    // Not JSON.
  }
  throw invalid(`The filter compares with ${JSON.stringify(token)}: write texts in double quotes.`);
}

type Members = Readonly<Record<string, unknown>>;

/** Attributes that are computed, or not loaded with a resource. */
const NOT_LOADED = ['members', 'groups'];

/** Whether a resource meets a filter. @throws ScimError `invalidFilter` for attributes or operators that it does not apply to */
export function meetsFilter(resource: Members, filter: Filter, type: ResourceType): boolean {
  return meets(resource, filter, attributesOf(type));
}

/** Whether one value of a multi-valued attribute meets a filter on its sub-attributes. */
export function meetsValueFilter(value: unknown, filter: Filter, attribute: Attribute): boolean {
  return meets(asMembers(value), filter, attribute.subAttributes ?? []);
}

function asMembers(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : { value };
}

function meets(resource: Members, filter: Filter, attributes: readonly Attribute[]): boolean {
  switch (filter.op) {
    case 'and':
      return filter.filters.every((one) => meets(resource, one, attributes));
    case 'or':
      return filter.filters.some((one) => meets(resource, one, attributes));
    case 'not':
      return !meets(resource, filter.filter, attributes);
    case 'some': {
      const attribute = filterAttribute(filter.path, attributes);
      return valuesOf(resource, attribute).some((value) =>
        meets(asMembers(value), filter.filter, attribute?.subAttributes ?? []),
      );
    }
    default:
      return meetsComparison(resource, filter, attributes);
  }
}

function meetsComparison(
  resource: Members,
  filter: Extract<Filter, { readonly path: AttributePath }>,
  attributes: readonly Attribute[],
): boolean {
  const { name, subName } = filter.path;
  const attribute = filterAttribute(filter.path, attributes);
  // A complex attribute is compared by its `value`.
  const sub = findAttribute(attribute?.subAttributes, subName ?? 'value');
  const values = valuesOf(resource, attribute).flatMap((value) =>
    sub === null ? (subName === null ? [value] : []) : (asMembers(value)[sub.name] ?? []),
  );
  if (filter.op === 'pr') return values.length > 0;
  const compare = compareBy(filter as Comparison, sub ?? attribute, subName ?? name);
  return values.length === 0 ? compare(null) : values.some(compare);
}

/** `null`: nothing is stored under this name. */
function filterAttribute(
  { name, isForeign }: AttributePath,
  attributes: readonly Attribute[],
): Attribute | null {
  const attribute = isForeign ? null : findAttribute(attributes, name);
  if (attribute !== null && NOT_LOADED.includes(attribute.name))
    throw invalid(
      `Filters support ${attribute.name} only in the form ${attribute.name} eq "…", combined by and.`,
    );
  return attribute;
}

function valuesOf(resource: Members, attribute: Attribute | null): readonly unknown[] {
  const value = attribute === null ? undefined : resource[attribute.name];
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Values of attributes whose case does not matter are folded alike everywhere: in keys, and in filters. */
export function foldCase(value: string): string {
  return toNfkc(value).toLowerCase();
}

/** PostgreSQL stores no NUL character, and no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

const TIMES = ['created', 'lastmodified'];

function compareBy(
  { op, value }: Comparison,
  attribute: Attribute | null,
  name: string,
): (stored: unknown) => boolean {
  if (attribute?.type === 'boolean' && op !== 'eq' && op !== 'ne')
    throw invalid(`The operator ${op} does not apply to ${name}, which is true or false.`);
  if (op === 'eq' || op === 'ne') {
    const wanted = comparable(value, attribute);
    return (stored) => (comparable(stored, attribute) === wanted) === (op === 'eq');
  }
  if (typeof value !== 'string') throw invalid(`The operator ${op} needs a text for ${name}.`);
  const isTime = TIMES.includes(name.toLowerCase());
  const order = isTime ? Date.parse(value) : foldUnless(attribute, value);
  if (Number.isNaN(order)) throw invalid(`${name} is compared with a time such as 2026-01-31T12:00:00Z.`);
  const holds = OPERATORS[op];
  return (stored) =>
    typeof stored === 'string' && holds(isTime ? Date.parse(stored) : foldUnless(attribute, stored), order);
}

const OPERATORS: Readonly<
  Record<Exclude<Comparison['op'], 'eq' | 'ne'>, (one: string | number, other: string | number) => boolean>
> = {
  co: (one, other) => String(one).includes(String(other)),
  sw: (one, other) => String(one).startsWith(String(other)),
  ew: (one, other) => String(one).endsWith(String(other)),
  gt: (one, other) => one > other,
  ge: (one, other) => one >= other,
  lt: (one, other) => one < other,
  le: (one, other) => one <= other,
};
function comparable(value: unknown, attribute: Attribute | null): unknown {
  return typeof value === 'string' ? foldUnless(attribute, value) : (value ?? null);
}

function foldUnless(attribute: Attribute | null, value: string): string {
  return attribute?.caseExact === true ? value : foldCase(value);
}
