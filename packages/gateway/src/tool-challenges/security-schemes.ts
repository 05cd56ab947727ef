/** What each listed tool needs, for clients that begin a sign-in from the result of a call. */
import { isMembers } from '@portcullis/http';
import type { LocatedRule } from '@portcullis/policy';
import { type Scopes, unionScopes } from '@portcullis/protocol';

/** @see SEP-1488, and "Authentication" in the documentation of OpenAI's Apps SDK */
type SecurityScheme = { readonly type: 'noauth' } | { readonly type: 'oauth2'; readonly scopes: Scopes };

/** Whether a sign-in could allow the tool. A tool that a rule denies to all users is not listed. */
export function mayBecomeCallable(rules: readonly LocatedRule[]): boolean {
  return rules.every(({ rule }) => rule.never !== true);
}

/** @param rules of the tool, all of which have to be met */
function securitySchemesOf(rules: readonly LocatedRule[]): readonly SecurityScheme[] {
  if (rules.every(({ rule }) => rule.public === true)) return [{ type: 'noauth' }];
  const scopes = rules.reduce<Scopes>((all, { rule }) => unionScopes(all, rule.scopes ?? []), []);
  return [{ type: 'oauth2', scopes }];
}

/** Replaces `securitySchemes` of each tool in a list: the gateway knows better than the backend. Also in `_meta`, where some clients look. */
export function describeTools(
  result: unknown,
  rulesFor: (tool: Readonly<Record<string, unknown>>) => readonly LocatedRule[],
): unknown {
  if (!isMembers(result) || !Array.isArray(result['tools'])) return result;
  const tools = result['tools'].filter(isMembers).map((tool) => {
    const securitySchemes = securitySchemesOf(rulesFor(tool));
    const { _meta: meta } = tool;
    return { ...tool, securitySchemes, _meta: { ...(isMembers(meta) && meta), securitySchemes } };
  });
  return { ...result, tools };
}
