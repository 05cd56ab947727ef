/** Names at a merged server: `fs__read_file` is the tool `read_file` of the member `fs`, `fs+file:///a` its resource `file:///a`. */
import { isMembers, type JsonFields, type Message } from '@portcullis/http';
import type { McpOperation } from '@portcullis/protocol';
import { findTarget } from '../messages/find-target.ts';

/** A name at a merged server, split into member and name. */
export interface PartName {
  readonly prefix: string;
  readonly name: string;
}

const NAME_SEPARATOR = '__';
/** Extends the scheme: the result is a URI. @see RFC 3986 §3.1 */
const URI_SEPARATOR = '+';

/** The name at a merged server of a tool or prompt of its member. */
export function mergedName(prefix: string, name: string): string {
  return `${prefix}${NAME_SEPARATOR}${name}`;
}

/** The same operation with another name or URI of its target. */
export function withTarget<T extends McpOperation>(operation: T, target: string): T {
  const { tool, prompt } = operation;
  const kind = tool !== null ? 'tool' : prompt !== null ? 'prompt' : 'resource';
  return { ...operation, [kind]: target };
}

/** Splits the name or URI of what an operation applies to. @returns `null` for one without a prefix */
export function splitTarget({ tool, prompt, resource }: McpOperation): PartName | null {
  return resource === null ? splitName(tool ?? prompt ?? '') : splitUri(resource);
}

/** Prefixes contain neither separator. @returns `null` for a name without one */
function splitName(name: string): PartName | null {
  return split(name, NAME_SEPARATOR);
}

/** @returns `null` for a URI without a prefix */
export function splitUri(uri: string): PartName | null {
  return split(uri, URI_SEPARATOR);
}

function split(text: string, separator: string): PartName | null {
  const at = text.indexOf(separator);
  return at < 1 ? null : { prefix: text.slice(0, at), name: text.slice(at + separator.length) };
}

/** Adds a member's prefix to the names and URIs in its result. */
export function prefixResult(prefix: string, result: JsonFields): JsonFields {
  const renamed: Record<string, unknown> = { ...result };
  const change = (member: string, one: (entry: JsonFields) => JsonFields): void => {
    const list = result[member];
    if (Array.isArray(list)) renamed[member] = list.map((entry) => (isMembers(entry) ? one(entry) : entry));
  };
  const named = (entry: JsonFields) => ({ ...entry, name: mergedName(prefix, String(entry['name'])) });
  const located = (entry: JsonFields) => withUri(prefix, entry);
  change('tools', named);
  change('prompts', named);
  change('resources', located);
  change('resourceTemplates', located);
  change('contents', located);
  change('content', (entry) => prefixContent(prefix, entry));
  change('messages', (entry) => {
    const { content } = entry;
    return isMembers(content) ? { ...entry, content: prefixContent(prefix, content) } : entry;
  });
  return renamed;
}

/** Adds a member's prefix to the URI of its notification. */
export function prefixNotification(prefix: string, message: Message): Message {
  return isMembers(message.params) ? { ...message, params: withUri(prefix, message.params) } : message;
}

/** Links and embedded resources. */
function prefixContent(prefix: string, content: JsonFields): JsonFields {
  if (content['type'] === 'resource_link') return withUri(prefix, content);
  const { resource } = content;
  return isMembers(resource) ? { ...content, resource: withUri(prefix, resource) } : content;
}

function withUri(prefix: string, entry: JsonFields): JsonFields {
  const located: Record<string, unknown> = { ...entry };
  for (const member of ['uri', 'uriTemplate']) {
    const uri = entry[member];
    if (typeof uri === 'string') located[member] = `${prefix}${URI_SEPARATOR}${uri}`;
  }
  return located;
}

/** A request or notification for one member, with that member's names. */
export interface PartMessage {
  readonly prefix: string;
  readonly message: Message;
}

/** Finds the member that a request's target names; `null` for a request without a target. */
export function splitMessage(message: Message): PartMessage | null {
  const target = findTarget(message);
  if (target === null) return null;
  const part = target.member === 'uri' ? splitUri(target.text) : splitName(target.text);
  return part && { prefix: part.prefix, message: { ...message, params: target.paramsWith(part.name) } };
}
