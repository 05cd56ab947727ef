/** Tool definitions: what of them is pinned, and what their hints say. */
import { createHash } from 'node:crypto';
import type { ToolHints } from '../policy/policy.ts';
import { canonicalJson } from './canonical-json.ts';

/** A definition, as the backend sent it. */
export type ToolDefinition = Readonly<Record<string, unknown>> & { readonly name: string };

/** What a model or a user reads about a tool, and what it is called with. */
const PINNED = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** The pinned members as canonical JSON. */
export function pinnedText(definition: ToolDefinition): string {
  return canonicalJson(Object.fromEntries(PINNED.map((name) => [name, definition[name]])));
}

/** Base64url SHA-256. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** @see MCP 2025-11-25, ToolAnnotations */
export function hintsOf({ annotations }: ToolDefinition): ToolHints {
  const { readOnlyHint, destructiveHint } = Object(annotations);
  return { readOnly: readOnlyHint === true, destructive: destructiveHint === true };
}

/** `null` for anything that is not a definition, or has a name that databases or terminals would change. */
export function readToolDefinition(value: unknown): ToolDefinition | null {
  if (typeof value !== 'object' || value === null || !('name' in value)) return null;
  const { name } = value;
  const isName =
    typeof name === 'string' && name.length <= 1000 && name.isWellFormed() && !/\p{Cc}/u.test(name);
  return isName ? (value as ToolDefinition) : null;
}
