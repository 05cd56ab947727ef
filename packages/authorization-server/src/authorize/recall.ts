/** Remembered consent: whether a request may be answered without asking, because its person has answered it before. */
import type { Asked } from '@portcullis/http';
import type { RedirectTarget, Scopes } from '@portcullis/protocol';
import type { Person } from '../accounts/sessions.ts';
import type { ResolvedClient } from '../clients/resolved-client.ts';
import type { ResourceDefinition } from '../configuration.ts';
import type { Approval } from './flow.ts';
import type { Rooms } from './rooms.ts';
import { findAnswered } from './standing.ts';

interface Matter {
  readonly person: Person;
  readonly client: ResolvedClient;
  readonly target: RedirectTarget;
  readonly resource: ResourceDefinition;
  readonly scopes: Scopes;
}

/** What the person allowed before; `null` when they have to be asked. Whatever goes wrong, they are. */
export async function recall(
  { configuration }: Pick<Rooms, 'configuration'>,
  request: Asked,
  { person, client, target, resource, scopes }: Matter,
): Promise<Approval | null> {
  if (!isOwnNavigation(request)) return null;
  const question = { accountId: person.account.id, client, target, resource, scopes };
  const answered = await findAnswered(configuration, question).catch(() => null);
  return answered === null ? null : { scopes, workspace: answered.workspace, by: 'memory' };
}

/**
 * Whether the browser says that the person came here by themselves or from our own site, in a page of its own. Another
 * site's link, a frame, a page fetched before anybody asked for it, or a browser that says nothing: the page asks.
 */
function isOwnNavigation({ method, headers }: Asked): boolean {
  return (
    method === 'GET' &&
    !headers.has('sec-purpose') &&
    !headers.has('purpose') &&
    ['same-origin', 'same-site', 'none'].includes(headers.get('sec-fetch-site') ?? '') &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    headers.get('sec-fetch-dest') === 'document'
  );
}
