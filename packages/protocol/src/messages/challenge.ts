/** `WWW-Authenticate` challenges: parsed in linear time, and formatted without header injection. */
import { sanitizeErrorText } from '../errors.ts';

/** One challenge. Parameter names are lowercase; of repeated parameters the first counts. */
export interface Challenge {
  /** As written; compare case-insensitively. */
  readonly scheme: string;
  readonly token68: string | null;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The maximum number of challenges and parameters read from one header; the rest is ignored. */
const MOST_ELEMENTS = 1000;

/**
 * Parses one or several `WWW-Authenticate` headers, each of which may contain several challenges. Never throws. What
 * cannot be parsed is skipped up to the next comma outside quotes; common mistakes of servers (an unquoted value, a
 * missing comma) are tolerated.
 * @see RFC 9110 §11.6.1
 */
export function parseChallenges(fields: string | readonly string[] | null | undefined): readonly Challenge[] {
  const list = fields === null || fields === undefined ? [] : typeof fields === 'string' ? [fields] : fields;
  return list.flatMap(parseField);
}

/** Finds the first challenge of a scheme, case-insensitively. */
export function findChallenge(challenges: readonly Challenge[], scheme: string): Challenge | undefined {
  return challenges.find((challenge) => challenge.scheme.toLowerCase() === scheme.toLowerCase());
}

interface OpenChallenge extends Challenge {
  token68: string | null;
  readonly parameters: Map<string, string>;
}

/** A position in a header that only moves forward. */
interface Cursor {
  readonly text: string;
  at: number;
}

/**
 * Sticky patterns. Each reads from one position, and at most twice over the same characters, so that parsing is
 * linear.
 */
const FOLD = /\r?\n[ \t]+/g;
const GAP = /[ \t,]*/y;
const SPACE = /[ \t]*/y;
const SCHEME = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?=[ \t,]|$)(?![ \t]*=)/y;
const TOKEN68 = /[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/y;
/**
 * A parameter name and its equals sign. What follows the name in `abc==`, in `abc=,` or at the end is the end of a
 * token68.
 */
const PARAMETER_NAME = /([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*=[ \t]*(?=[^=, \t])/y;
const BARE_VALUE = /[^ \t,"]*/y;

function parseField(field: string): readonly Challenge[] {
  const cursor: Cursor = { text: field.replace(FOLD, ' '), at: 0 };
  const challenges: OpenChallenge[] = [];
  let elements = 0;
  take(cursor, GAP);
  while (cursor.at < cursor.text.length && elements < MOST_ELEMENTS) {
    elements += parseElement(cursor, challenges);
    cursor.at = nextComma(cursor);
    take(cursor, GAP);
  }
  return challenges;
}

/**
 * Parses what is between two commas: a parameter of the preceding challenge, or a new challenge. @returns how many
 * elements it read
 */
function parseElement(cursor: Cursor, challenges: OpenChallenge[]): number {
  const start = cursor.at;
  const parameters = takeParameters(cursor);
  if (parameters.length > 0) {
    // A parameter before the first challenge is dropped.
    const current = challenges.at(-1);
    if (current !== undefined) addParameters(current, parameters);
    return parameters.length;
  }
  const scheme = cursor.at === start ? take(cursor, SCHEME) : null;
  if (scheme === null) return 1;
  const challenge: OpenChallenge = { scheme, token68: null, parameters: new Map() };
  challenges.push(challenge);
  return 1 + parseDetails(cursor, challenge);
}

/** Parses what follows the scheme: parameters, one token68, or nothing. */
function parseDetails(cursor: Cursor, challenge: OpenChallenge): number {
  if (take(cursor, SPACE) === '') return 0;
  const parameters = takeParameters(cursor);
  addParameters(challenge, parameters);
  if (parameters.length === 0) challenge.token68 = take(cursor, TOKEN68);
  return parameters.length;
}

type Parameter = readonly [name: string, value: string];

/** Takes parameters up to a comma. Several parameters mean that commas are missing. */
function takeParameters(cursor: Cursor): readonly Parameter[] {
  const parameters: Parameter[] = [];
  while (parameters.length < MOST_ELEMENTS) {
    PARAMETER_NAME.lastIndex = cursor.at;
    const name = PARAMETER_NAME.exec(cursor.text)?.[1];
    if (name === undefined) break;
    cursor.at = PARAMETER_NAME.lastIndex;
    const value = takeValue(cursor);
    // An unterminated quoted string: the end of the value is unknown.
    if (value === null) break;
    parameters.push([name.toLowerCase(), value]);
    take(cursor, SPACE);
  }
  return parameters;
}

/** Takes a quoted string, without its quotes and backslashes, or everything up to a space or comma. */
function takeValue(cursor: Cursor): string | null {
  if (cursor.text[cursor.at] !== '"') return take(cursor, BARE_VALUE);
  const start = cursor.at + 1;
  const end = closingQuote(cursor.text, start);
  cursor.at = Math.min(end + 1, cursor.text.length);
  return end === cursor.text.length ? null : cursor.text.slice(start, end).replace(/\\(.)/gs, '$1');
}

/** The index of the closing quote; the end of the text if there is none. */
function closingQuote(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '"') return at;
    if (text[at] === '\\') at += 1;
  }
  return text.length;
}

/** The index of the next comma outside quotes, or the end of the text. */
function nextComma({ text, at: start }: Cursor): number {
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === ',') return at;
    if (text[at] === '"') at = closingQuote(text, at + 1);
  }
  return text.length;
}

function take(cursor: Cursor, pattern: RegExp): string | null {
  pattern.lastIndex = cursor.at;
  const match = pattern.exec(cursor.text);
  if (match !== null) cursor.at = pattern.lastIndex;
  return match?.[0] ?? null;
}

function addParameters(challenge: OpenChallenge, parameters: readonly Parameter[]): void {
  for (const [name, value] of parameters) {
    if (!challenge.parameters.has(name)) challenge.parameters.set(name, value);
  }
}

/**
 * Formats one challenge; parameters that are `undefined` are omitted.
 * @throws TypeError if a name is not a token or a value contains characters outside printable ASCII, which prevents
 * header injection
 * @see RFC 9110 §11.6.1
 */
export function formatChallenge(
  scheme: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${token(name)}=${quote(value)}`],
  );
  return written.length === 0 ? token(scheme) : `${token(scheme)} ${written.join(', ')}`;
}

/** The parameters of a Bearer challenge, in the order in which they are written. @see RFC 6750 §3, RFC 9728 §5.1 */
export interface BearerChallenge {
  readonly realm?: string | undefined;
  readonly error?: string | undefined;
  readonly error_description?: string | undefined;
  readonly error_uri?: string | undefined;
  readonly resource_metadata?: string | undefined;
  readonly scope?: string | undefined;
  /** @see RFC 9470 §3 */
  readonly acr_values?: string | undefined;
  readonly max_age?: string | undefined;
}

/**
 * Formats a Bearer challenge so that naive parsers read it correctly: no quotes or backslashes in values, no equals
 * signs in the description.
 * @throws TypeError if `error`, `error_uri`, `resource_metadata` or `scope` contains a character that is not allowed
 * @see RFC 6750 §3, RFC 9728 §5.1
 */
export function formatBearerChallenge(challenge: BearerChallenge): string {
  const { realm, error, error_description: description, error_uri, resource_metadata, scope } = challenge;
  const { acr_values, max_age } = challenge;
  for (const value of [error, error_uri, resource_metadata, scope, acr_values]) {
    if (value !== undefined && /["\\]/.test(value)) {
      throw new TypeError('A value of a Bearer challenge must not contain quotes or backslashes.');
    }
  }
  const error_description =
    description === undefined ? undefined : sanitizeErrorText(description).replaceAll('=', ' ');
  const parameters = {
    realm,
    error,
    error_description,
    error_uri,
    resource_metadata,
    scope,
    acr_values,
    max_age,
  };
  return formatChallenge('Bearer', parameters);
}

function token(text: string): string {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text))
    throw new TypeError('Names in a challenge must be tokens.');
  return text;
}

function quote(value: string): string {
  if (!/^[\x20-\x7e]*$/.test(value)) {
    throw new TypeError('A challenge parameter may contain printable ASCII only.');
  }
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
}
