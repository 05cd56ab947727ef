/** `WWW-Authenticate`: challenges parsed as RFC 9110 writes them, in linear time, and built so that nothing can be injected. */

/** One challenge. Parameter names are lowercase; of a repeated parameter the first counts. */
export interface Challenge {
  /** As written; compare without regard to case. */
  readonly scheme: string;
  readonly token68: string | null;
  readonly parameters: ReadonlyMap<string, string>;
}

/** A longer field is not worth reading: the rest is ignored. */
const MOST_CHARACTERS = 16_384;

/**
 * Parses one or several `WWW-Authenticate` fields, each of which may hold several challenges. Never throws; what cannot
 * be understood is skipped up to the next comma.
 * @see RFC 9110 §11.6.1
 */
export function parseChallenges(fields: string | readonly string[] | null | undefined): readonly Challenge[] {
  const list = fields === null || fields === undefined ? [] : typeof fields === 'string' ? [fields] : fields;
  return list.flatMap((field) => parseField(field.slice(0, MOST_CHARACTERS)));
}

/** The first challenge of a scheme, whatever the case. */
export function findChallenge(challenges: readonly Challenge[], scheme: string): Challenge | undefined {
  return challenges.find((challenge) => challenge.scheme.toLowerCase() === scheme.toLowerCase());
}

interface OpenChallenge {
  scheme: string;
  token68: string | null;
  parameters: Map<string, string>;
}

/** Sticky patterns: each reads at one place and never goes back, so that the whole is linear. */
const SPACE = /[ \t\r\n]*/y;
const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
const TOKEN68 = /[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/y;
const EQUALS = /[ \t]*=[ \t]*/y;
const TO_COMMA = /[^,]*/y;

function parseField(text: string): OpenChallenge[] {
  const challenges: OpenChallenge[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) return null;
    at = pattern.lastIndex;
    return match[0];
  };

  while (at < text.length) {
    take(SPACE);
    if (text[at] === ',') {
      at += 1;
      continue;
    }
    const name = take(TOKEN);
    if (name === null) {
      take(TO_COMMA);
      // A comma within what was skipped cannot be told from a separator.
      at += text[at] === ',' ? 1 : 0;
      continue;
    }
    const current = challenges.at(-1);
    if (current !== undefined && take(EQUALS) !== null) {
      addParameter(current, name, takeValue());
      take(TO_COMMA);
      continue;
    }
    challenges.push(openChallenge(name));
  }
  return challenges;

  function openChallenge(scheme: string): OpenChallenge {
    const challenge: OpenChallenge = { scheme, token68: null, parameters: new Map() };
    if (text[at] !== ' ' && text[at] !== '\t') return challenge;
    take(SPACE);
    // `name = value` is a parameter; `abc==` is a token68, and so is a bare word that ends the challenge.
    const start = at;
    const name = take(TOKEN);
    if (name !== null && take(EQUALS) !== null && text[at] !== '=' && text[at] !== ',' && at < text.length) {
      addParameter(challenge, name, takeValue());
      take(TO_COMMA);
      return challenge;
    }
    at = start;
    challenge.token68 = take(TOKEN68);
    return challenge;
  }

  function takeValue(): string {
    if (text[at] !== '"') return take(TOKEN) ?? '';
    at += 1;
    let value = '';
    while (at < text.length && text[at] !== '"') {
      if (text[at] === '\\' && at + 1 < text.length) at += 1;
      value += text[at];
      at += 1;
    }
    at += 1;
    return value;
  }
}

function addParameter(challenge: OpenChallenge, name: string, value: string): void {
  const key = name.toLowerCase();
  if (!challenge.parameters.has(key)) challenge.parameters.set(key, value);
}

/** The parameters of a Bearer challenge, in the order in which they are written. */
export interface BearerChallenge {
  readonly realm?: string | undefined;
  readonly error?: string | undefined;
  readonly error_description?: string | undefined;
  readonly error_uri?: string | undefined;
  readonly scope?: string | undefined;
  readonly resource_metadata?: string | undefined;
}

/**
 * Builds one challenge; parameters that are `undefined` are left out.
 * @throws TypeError when a value holds a character outside printable ASCII: nothing can be injected.
 * @see RFC 9110 §11.6.1, RFC 6750 §3, RFC 9728 §5.1
 */
export function formatChallenge(
  scheme: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${quote(value)}`],
  );
  return written.length === 0 ? scheme : `${scheme} ${written.join(', ')}`;
}

function quote(value: string): string {
  if (!/^[\x20-\x7e]*$/.test(value)) {
    throw new TypeError('A challenge parameter may hold printable ASCII only.');
  }
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
}
