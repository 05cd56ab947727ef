/** What an app is called on a page. */
import { isTrustedClient, type ResolvedClient } from '../clients/client.ts';
import { displayName } from '../display-name.ts';
import type { Layout } from '../ui/layout.ts';

/** The name that the client gave itself; for one that the operator set up without a name, its identifier. */
export function clientDisplayName(client: ResolvedClient, layout: Layout): string {
  const name = displayName(client.metadata.client_name ?? (isTrustedClient(client) ? client.id : ''));
  return name === '' ? layout.text('app.nameless') : name;
}
