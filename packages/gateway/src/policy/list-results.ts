/** The lists of MCP: which members of a result are definitions, and what operation each of them offers. */
import type { McpOperation } from '@portcullis/protocol';
import { ELEMENT_MEMBERS, LIST_NAMES, SCOPE } from '../messages/check-responses.ts';
import { fold } from '../messages/json-projection.ts';

type Element = Readonly<Record<string, unknown>>;

const operation = (method: string, member: 'tool' | 'prompt' | 'resource', name: unknown) =>
  typeof name === 'string' ? { method, tool: null, prompt: null, resource: null, [member]: name } : null;

/** The operation that an element of each list offers; `null` for an element that is malformed. */
const OFFERED: Readonly<Record<string, (element: Element) => McpOperation | null>> = {
  tools: ({ name }) => operation('tools/call', 'tool', name),
  prompts: ({ name }) => operation('prompts/get', 'prompt', name),
  resources: ({ uri }) => operation('resources/read', 'resource', uri),
  resourceTemplates: ({ uriTemplate }) => operation('resources/read', 'resource', uriTemplate),
};

const foldedOf = (names: readonly string[]) => new Map(names.map((name) => [fold(name), name]));
const foldedMembers = foldedOf(ELEMENT_MEMBERS);
const foldedLists = foldedOf(LIST_NAMES);

/** The names in an object that clients that ignore case take for others. */
function variantsIn(value: object, folded: ReadonlyMap<string, string>): readonly string[] {
  return Object.keys(value).filter((name) => (folded.get(fold(name)) ?? name) !== name);
}

/**
 * Keeps the elements of all lists in a result that are wanted. Returns the same result if all are. What only clients that ignore case
 * take for a list, or for a member of an element, is not kept.
 * @throws SyntaxError for a list that is an object
 */
export function filterLists(
  result: unknown,
  isWanted: (operation: McpOperation, element: Element) => boolean,
): unknown {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return result;
  const changed: Record<string, unknown> = {};
  for (const name of variantsIn(result, foldedLists)) changed[name] = undefined;
  for (const [name, offered] of Object.entries(OFFERED)) {
    const elements: unknown = (result as Element)[name];
    if (!Array.isArray(elements)) {
      // A lenient client may read its members.
      if (typeof elements === 'object' && elements !== null) throw new SyntaxError(`its ${name} are no list`);
      continue;
    }
    const retained = elements.filter((element: unknown) => {
      if (typeof element !== 'object' || element === null) return false;
      const found = variantsIn(element, foldedMembers).length > 0 ? null : offered(element as Element);
      return found !== null && isWanted(found, element as Element);
    });
    if (retained.length < elements.length) changed[name] = retained;
  }
  return Object.keys(changed).length === 0 ? result : { ...result, ...changed };
}

const foldedScope = foldedOf([SCOPE]);

/**
 * Every result of a server depends on the token of its request: it is not shared with other users of the same client or cache.
 * @see MCP 2026-07-28, caching, security considerations
 */
export function withPrivateScope(result: Element): unknown {
  const variants = variantsIn(result, foldedScope);
  const isPublic = SCOPE in result && result[SCOPE] !== 'private';
  if (!isPublic && variants.length === 0) return result;
  const dropped = Object.fromEntries(variants.map((name) => [name, undefined]));
  return { ...result, ...dropped, ...(isPublic && { [SCOPE]: 'private' }) };
}
