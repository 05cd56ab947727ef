/** What an app is called on a page. */
import type { ResolvedClient } from '../clients/resolved-client.ts';
import { presentable } from '../pages/names.ts';

/** The name that the client gave itself; for one that the operator set up without a name, its identifier. */
export function appName({ id, origin, metadata }: ResolvedClient): string {
  const name = presentable(metadata.client_name ?? (origin === 'registered' ? '' : id));
  return name === '' ? 'An app without a name' : name;
}
