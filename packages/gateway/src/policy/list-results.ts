/** The lists of MCP: which members of a result are definitions, and what operation each of them offers. */
import type { McpOperation } from '@portcullis/resource-server';

/** A list in a result, by the name of its member. */
interface ListedKind {
  /** The operation that an element offers; `null` for an element that is malformed. */
  readonly operation: (element: Readonly<Record<string, unknown>>) => McpOperation | null;
}

const operation = (method: string, member: 'tool' | 'prompt' | 'resource', name: unknown) =>
  typeof name === 'string' ? { method, tool: null, prompt: null, resource: null, [member]: name } : null;

const LISTS: Readonly<Record<string, ListedKind>> = {
  tools: { operation: ({ name }) => operation('tools/call', 'tool', name) },
  prompts: { operation: ({ name }) => operation('prompts/get', 'prompt', name) },
  resources: { operation: ({ uri }) => operation('resources/read', 'resource', uri) },
  resourceTemplates: { operation: ({ uriTemplate }) => operation('resources/read', 'resource', uriTemplate) },
};

const METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

/** Whether the result of a method is filtered. */
export function isListMethod(method: string): boolean {
  return METHODS.has(method);
}

export type Element = Readonly<Record<string, unknown>>;

/** Keeps the elements of all lists in a result that are wanted. Returns the same result if all are. */
export function filterLists(
  result: unknown,
  isWanted: (operation: McpOperation, element: Element) => boolean,
): unknown {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return result;
  const changed: Record<string, unknown> = {};
  for (const [name, { operation: offered }] of Object.entries(LISTS)) {
    const elements: unknown = (result as Element)[name];
    if (!Array.isArray(elements)) continue;
    const kept = elements.filter((element: unknown) => {
      const found = typeof element === 'object' && element !== null ? offered(element as Element) : null;
      return found !== null && isWanted(found, element as Element);
    });
    if (kept.length < elements.length) changed[name] = kept;
  }
  return Object.keys(changed).length === 0 ? result : { ...result, ...changed };
}
