/** Standard request headers of stateless messages (`Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`), which let intermediaries route without reading bodies. */
import { isMembers, type Message, parameter, statelessVersion } from './json-rpc.ts';
import { toDouble } from './parse-exactly.ts';

/** The parameter that `Mcp-Name` repeats, by method. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** A tool parameter that is repeated in a header. */
interface HeaderParameter {
  readonly path: readonly string[];
  /** In lower case. */
  readonly header: string;
}

/** An argument that a header can repeat. */
type HeaderArgument = string | number | boolean;

/** The headers that repeat members of a message in the stateless revision. */
export interface StandardHeaders {
  /** Headers of a message; empty for messages of a session. */
  of(message: Message): Readonly<Record<string, string>>;
  /** The arguments of a call that headers repeat, by header; an integer is compared as a number. */
  argumentsOf(message: Message): ReadonlyMap<string, HeaderArgument>;
  /** Whether a parameter of any listed tool is repeated in this header. */
  declares(header: string): boolean;
  /** Records from a tool list which tool parameters must be repeated in headers. */
  learn(result: unknown): void;
}

/** Creates the headers for one server; caches the tools of its lists. */
export function createStandardHeaders(): StandardHeaders {
  const repeated = new Map<string, readonly HeaderParameter[]>();

  function argumentsOf(message: Message): ReadonlyMap<string, HeaderArgument> {
    const name = parameter(message, 'name');
    const tool = message.method === 'tools/call' && typeof name === 'string' ? repeated.get(name) : undefined;
    return new Map((tool ?? []).flatMap((entry) => argumentFor(entry, message)));
  }

  return {
    of(message) {
      const version = statelessVersion(message);
      if (version === null || message.method === undefined) return {};
      const name = parameter(message, NAMED_BY[message.method] ?? '');
      return {
        'mcp-protocol-version': version,
        'mcp-method': message.method,
        ...(typeof name === 'string' && { 'mcp-name': encode(name) }),
        ...Object.fromEntries(
          [...argumentsOf(message)].map(([header, value]) => [header, encode(String(value))]),
        ),
      };
    },
    argumentsOf,
    declares: (header) =>
      [...repeated.values()].some((parameters) => parameters.some((one) => one.header === header)),
    learn(result) {
      const tools = isMembers(result) && Array.isArray(result['tools']) ? result['tools'] : [];
      for (const tool of tools) {
        if (isMembers(tool) && typeof tool['name'] === 'string')
          repeated.set(tool['name'], findHeaderParameters(tool['inputSchema'], []));
      }
    },
  };
}

function argumentFor(
  { path, header }: HeaderParameter,
  message: Message,
): readonly (readonly [string, HeaderArgument])[] {
  const written = parameter(message, 'arguments', ...path);
  const value = toDouble(written);
  // Another integer may be the same double.
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return [[header, JSON.stringify(written)]];
  const isRepeatable = typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value);
  return isRepeatable ? [[header, value as HeaderArgument]] : [];
}

function findHeaderParameters(schema: unknown, path: readonly string[]): readonly HeaderParameter[] {
  if (!isMembers(schema)) return [];
  const header = schema['x-mcp-header'];
  const own =
    path.length > 0 && typeof header === 'string' && /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(header)
      ? [{ path, header: `mcp-param-${header.toLowerCase()}` }]
      : [];
  const properties = isMembers(schema['properties']) ? schema['properties'] : {};
  const below = Object.entries(properties).flatMap(([name, child]) =>
    findHeaderParameters(child, [...path, name]),
  );
  return [...own, ...below];
}

/** The value that a header repeats, which may be written as base64; `null` if it is not encoded correctly. */
export function decodeHeaderValue(header: string): string | null {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(header)?.[1];
  if (encoded === undefined) return header;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString() : null;
}

/** Encodes values that are not valid in a header as base64. */
function encode(value: string): string {
  const plain = /^[\t\x20-\x7e]+$/.test(value) && value === value.trim() && !/^=\?base64\?.*\?=$/.test(value);
  return plain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
