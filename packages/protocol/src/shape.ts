/** Shapes of JSON values: each reads values of one kind, and says of any other what is wrong with it. */

/** What is wrong with a value, and where in it. */
export interface ShapeFault {
  /** Names and places, from the outside in. */
  readonly path: (string | number)[];
  readonly reason: string;
}

/** Reads a value. What is wrong with it is added to the faults; what comes back of such a value is not to be used. */
export type Shape<T> = (value: unknown, faults: ShapeFault[]) => T;

/** What a text or a list is held to besides its type: the fault, or `null`. */
type Rule<T> = (value: T) => string | null;

/** A rule that a test stands for. */
export function must<T>(test: (value: T) => boolean, fault: string): Rule<T> {
  return (value) => (test(value) ? null : `must ${fault}`);
}

/** Characters of a text, entries of a list: as many and no more. */
export function atMost(most: number): Rule<string | readonly unknown[]> {
  return (value) => {
    if (value.length <= most) return null;
    return `must have at most ${most} ${typeof value === 'string' ? 'characters' : 'entries'}`;
  };
}

/** A text. Of several rules the first that it breaks is told. */
export function text(...rules: readonly Rule<string>[]): Shape<string> {
  return (value, faults) => {
    const fault = typeof value === 'string' ? firstFault(rules, value) : 'must be a string';
    if (fault !== null) tell(faults, fault);
    return value as string;
  };
}

export const flag: Shape<boolean> = (value, faults) => {
  if (typeof value !== 'boolean') tell(faults, 'must be true or false');
  return value as boolean;
};

/** One of a few texts. */
export function oneOf<const T extends string>(...known: readonly T[]): Shape<T> {
  return (value, faults) => {
    if (!(known as readonly unknown[]).includes(value)) tell(faults, `must be one of ${known.join(', ')}`);
    return value as T;
  };
}

/** A list whose entries have one shape. A list that breaks a rule is not looked into. */
export function list<T>(entry: Shape<T>, ...rules: readonly Rule<readonly unknown[]>[]): Shape<readonly T[]> {
  return (value, faults) => {
    const fault = Array.isArray(value) ? firstFault(rules, value) : 'must be an array';
    // Unlike `map` it sees holes.
    if (fault === null) return Array.from(value as unknown[], (each, at) => within(at, entry, each, faults));
    tell(faults, fault);
    return [];
  };
}

/** An object with any members, but for the one by which whoever copies them would change what it descends from. */
export const anyObject: Shape<Readonly<Record<string, unknown>>> = (value, faults) => {
  if (isObject(value)) return Object.hasOwn(value, '__proto__') ? withoutDescent(value) : value;
  tell(faults, 'must be an object');
  return {};
};

/** Names of the members that may be absent. */
type Optional<T> = { [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K> ? K : never }[keyof T];

/** The shape of every member. */
interface Members<T> {
  readonly required: { readonly [K in Exclude<keyof T, Optional<T>>]: Shape<T[K]> };
  readonly optional: { readonly [K in Optional<T>]-?: Shape<Exclude<T[K], undefined>> };
}

/** An object. Of what it holds only the known members are read, and only its own. */
export function object<T extends object>({ required, optional }: Members<T>): Shape<T> {
  const members = Object.entries<Shape<unknown>>({ ...required, ...optional });
  return (value, faults) => {
    const read: Record<string, unknown> = {};
    const given = anyObject(value, faults);
    for (const [name, shape] of members) {
      if (Object.hasOwn(given, name)) read[name] = within(name, shape, given[name], faults);
      else if (Object.hasOwn(required, name)) faults.push({ path: [name], reason: 'is missing' });
    }
    return read as T;
  };
}

/** Whether a value has a shape. */
export function holds(shape: Shape<unknown>, value: unknown): boolean {
  const faults: ShapeFault[] = [];
  shape(value, faults);
  return faults.length === 0;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads a part, and says of its faults which part it was. */
function within<T>(part: string | number, shape: Shape<T>, value: unknown, faults: ShapeFault[]): T {
  const before = faults.length;
  const read = shape(value, faults);
  for (let at = before; at < faults.length; at += 1) faults[at]?.path.unshift(part);
  return read;
}

function withoutDescent(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== '__proto__'));
}

function firstFault<T>(rules: readonly Rule<T>[], value: T): string | null {
  for (const rule of rules) {
    const fault = rule(value);
    if (fault !== null) return fault;
  }
  return null;
}

function tell(faults: ShapeFault[], reason: string): void {
  faults.push({ path: [], reason });
}
