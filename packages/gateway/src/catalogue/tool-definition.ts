/** Tool definitions: what is pinned of them, and their hints. */

import { createHash } from 'node:crypto';
import { toDouble } from '@portcullis/http';
import type { ToolAnnotations } from '@portcullis/policy';

/** A definition, as the backend sent it. */
export type ToolDefinition = Readonly<Record<string, unknown>> & { readonly name: string };

/** The members that pins up to version 0.1 cover. */
const MEMBERS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** The hash of the members that pins up to version 0.1 cover. */
export function membersHashOf(definition: ToolDefinition): string {
  return hashOf(canonicalJson(Object.fromEntries(MEMBERS.map((name) => [name, definition[name]]))));
}

/** Base64url SHA-256. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** @see MCP 2025-11-25, ToolAnnotations */
export function hintsOf({ annotations }: ToolDefinition): ToolAnnotations {
  const { readOnlyHint, destructiveHint } = Object(annotations);
  return { readOnly: readOnlyHint === true, destructive: destructiveHint === true };
}

/** The hints of several definitions together: read-only if all are, destructive if one is. */
export function commonHints(hints: readonly ToolAnnotations[]): ToolAnnotations {
  return {
    readOnly: hints.every(({ readOnly }) => readOnly),
    destructive: hints.some(({ destructive }) => destructive),
  };
}

/** `null` for anything that is not a definition, or has a name that databases or terminals would change. */
export function readToolDefinition(value: unknown): ToolDefinition | null {
  if (typeof value !== 'object' || value === null || !('name' in value)) return null;
  const { name } = value;
  const isName =
    typeof name === 'string' && name.length <= 1000 && name.isWellFormed() && !/\p{Cc}/u.test(name);
  return isName ? (value as ToolDefinition) : null;
}

/**
 * Canonical JSON: equal values have equal texts.
 * @param parsed as parsed from JSON
 * @see RFC 8785
 */
export function canonicalJson(parsed: unknown): string {
  const value = toDouble(parsed);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  // Sorts by UTF-16 code units. @see RFC 8785 §3.2.3
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
