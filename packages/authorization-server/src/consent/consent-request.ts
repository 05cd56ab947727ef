/** What is to be decided on a consent page: the question, and the workspace that it is about. */

import type { Scopes } from '@portcullis/protocol';
import { findExistingConsents, grantedScopesIn } from '../authorization/remembered-consent.ts';
import type { AuthorizationTransaction } from '../authorization/transaction.ts';
import type { ServerContext } from '../context.ts';
import type { ResourceDefinition, Workspace } from '../options.ts';
import { type ConsentScopes, resolveConsentScopes } from './consent-scopes.ts';

export interface ConsentRequest {
  /** The resource as the configuration has it. One that has left it offers nothing. */
  readonly resource: ResourceDefinition;
  readonly question: ConsentScopes;
  /** The one that the grant will be bound to; `null` where there are none, or as long as the person has to choose. */
  readonly workspace: Workspace | null;
  /** What the person has to choose from; none when there is nothing to choose. */
  readonly choices: readonly Workspace[];
  /** Whether the person could turn to other workspaces than the one that the client has. */
  readonly hasOthers: boolean;
}

/** @param afresh whether the person wants another workspace than the one that the client has access to */
export async function createConsentRequest(
  context: ServerContext,
  { record: transaction, client }: AuthorizationTransaction,
  accountId: string | null,
  afresh: boolean,
): Promise<ConsentRequest> {
  const [uri = ''] = transaction.resources;
  const resource = context.options.resources.get(uri) ?? {
    resource: uri,
    name: new URL(uri).host,
    scopes: {},
  };
  // Of somebody whom nobody knows yet, nothing is held.
  const allowed =
    accountId === null
      ? { workspaces: [], grants: [] }
      : await findExistingConsents(context, accountId, client, uri);
  const { workspaces, grants } = allowed;
  const bound = afresh ? undefined : workspaces.find(({ id }) => id === grants[0]?.workspace);
  const workspace = bound ?? (workspaces.length === 1 ? (workspaces[0] ?? null) : null);
  const mustChoose = workspace === null && workspaces.length > 0;
  const held: Scopes = mustChoose ? [] : grantedScopesIn(workspace?.id ?? null, allowed);
  return {
    resource,
    question: resolveConsentScopes(transaction.scopes, held, resource),
    workspace,
    choices: mustChoose ? workspaces : [],
    hasOthers: bound !== undefined && workspaces.length > 1,
  };
}

/** All of it as text: a form answers what its page showed, not what has become of it since. */
export function serializeConsentRequest({ question, workspace, choices }: ConsentRequest): string {
  return JSON.stringify([question, workspace, choices]);
}
