/** JSON in a column of text. */

/** What this store wrote there: the type is the writer's. */
export function readJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** The same, for what several may hold at once: nobody can change it. */
export function readFrozenJson<T>(text: string): T {
  return JSON.parse(text, (_name, value: unknown) => Object.freeze(value)) as T;
}

/** As many lists are remembered, of as many characters, at most. */
const MOST = 1000;
const LONGEST = 500;

/** Lists by how they are written: scopes and resources are few, and the same ones are read again and again. */
const remembered = new Map<string, readonly string[]>();

/** A list of texts. Whoever reads the same text gets the same list, so it is frozen. */
export function readList(text: string): readonly string[] {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const list = Object.freeze(readJson<string[]>(text));
  if (remembered.size >= MOST) remembered.clear();
  if (text.length <= LONGEST) remembered.set(text, list);
  return list;
}
