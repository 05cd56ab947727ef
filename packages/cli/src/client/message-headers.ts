/** Headers that the stateless wire derives from a message, so that whatever stands between can route it unread. */

import { isObject } from '../json.ts';
import { type Message, parameter, statelessVersion } from './json-rpc.ts';

/** Which parameter a method is named by. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Parameter of a tool → the header that repeats it. */
interface Repeated {
  readonly path: readonly string[];
  readonly header: string;
}

export interface MessageHeaders {
  /** What the wire demands beside the usual. Empty for messages of the wire with sessions. */
  of(message: Message): Readonly<Record<string, string>>;
  /** Learns from a list of tools which of their parameters are repeated in headers. */
  learn(result: unknown): void;
}

export function createMessageHeaders(): MessageHeaders {
  const repeated = new Map<string, readonly Repeated[]>();
  return {
    of(message) {
      const version = statelessVersion(message);
      if (version === null || message.method === undefined) return {};
      const name = parameter(message, NAMED_BY[message.method] ?? '');
      const tool =
        message.method === 'tools/call' && typeof name === 'string' ? repeated.get(name) : undefined;
      return {
        'mcp-protocol-version': version,
        'mcp-method': message.method,
        ...(typeof name === 'string' && { 'mcp-name': encode(name) }),
        ...Object.fromEntries((tool ?? []).flatMap((entry) => repeat(entry, message))),
      };
    },
    learn(result) {
      const tools = isObject(result) && Array.isArray(result['tools']) ? result['tools'] : [];
      for (const tool of tools) {
        if (isObject(tool) && typeof tool['name'] === 'string')
          repeated.set(tool['name'], findRepeated(tool['inputSchema'], []));
      }
    },
  };
}

function repeat({ path, header }: Repeated, message: Message): readonly (readonly [string, string])[] {
  const value = parameter(message, 'arguments', ...path);
  const told = typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value);
  return told ? [[`mcp-param-${header.toLowerCase()}`, encode(String(value))]] : [];
}

function findRepeated(schema: unknown, path: readonly string[]): readonly Repeated[] {
  if (!isObject(schema)) return [];
  const header = schema['x-mcp-header'];
  const own =
    path.length > 0 && typeof header === 'string' && /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(header)
      ? [{ path, header }]
      : [];
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const below = Object.entries(properties).flatMap(([name, child]) => findRepeated(child, [...path, name]));
  return [...own, ...below];
}

/** A value that a header cannot carry as it is travels in base64. */
function encode(value: string): string {
  const plain = /^[\t\x20-\x7e]+$/.test(value) && value === value.trim() && !/^=\?base64\?.*\?=$/.test(value);
  return plain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
