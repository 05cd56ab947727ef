/** What an app is called on a page. */
import { isTrustedClient, type ResolvedClient } from '../clients/client.ts';
import { presentable } from '../presentable.ts';
import type { Layout } from '../ui/layout.ts';

/** The name that the client gave itself; for one that the operator set up without a name, its identifier. */
export function appName(client: ResolvedClient, layout: Layout): string {
  const name = presentable(client.metadata.client_name ?? (isTrustedClient(client) ? client.id : ''));
  return name === '' ? layout.text('app.nameless') : name;
}
