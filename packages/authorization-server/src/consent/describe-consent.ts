/** What a person is asked to allow, in words: for our own page, and for an application that shows it. */
import type { RedirectTarget } from '@portcullis/protocol';
import { clientDisplayName } from '../authorization/client-display-name.ts';
import { isTrustedClient, type ResolvedClient } from '../clients/client.ts';
import { displayName } from '../display-name.ts';
import type { Layout } from '../ui/layout.ts';
import { translate } from '../ui/translations.ts';
import type { ConsentRequest } from './consent-request.ts';
import type { ConsentPage } from './consent-view.ts';
import { describeResource, scopeDescriptionOf } from './describe-resource.ts';

/** All that does not depend on how the question is put. */
export type DescribedConsent = Omit<ConsentPage, 'account' | 'othersPath' | 'error' | 'chosen' | 'fields'>;

export function describeConsent(
  layout: Layout,
  asker: Asker,
  { resource, question, workspace, choices }: ConsentRequest,
): DescribedConsent {
  const { name, address } = describeResource(resource, resource.resource, [], layout);
  const { scopes } = translate(resource, layout.language);
  const describe = (scope: string) => scopeDescriptionOf(scopes, scope);
  return {
    ...describeClient(layout, asker),
    server: { name, address },
    requested: question.asked.map((asked) => ({
      ...asked,
      sentence: describe(asked.scope),
      includes: asked.includes.map(describe),
    })),
    alreadyGranted: question.kept.map(describe),
    isKnown: question.isKnown,
    workspace: workspace === null ? { choices: choices.map(named) } : { chosen: named(workspace) },
  };
}

/** Who asks, and where they are answered. */
interface Asker {
  readonly client: ResolvedClient;
  readonly target: RedirectTarget;
}

export function describeClient(
  layout: Layout,
  { client, target }: Asker,
): Pick<ConsentPage, 'appName' | 'verifiedBy' | 'returnTo' | 'redirectsElsewhere'> {
  const vouchedBy = voucherOf(client);
  return {
    appName: clientDisplayName(client, layout),
    verifiedBy: vouchedBy,
    returnTo: target,
    redirectsElsewhere: typeof vouchedBy === 'object' && isElsewhere(target, vouchedBy.host),
  };
}

function named({ id, name }: { readonly id: string; readonly name: string }): { id: string; name: string } {
  return { id, name: displayName(name) || id };
}

/** Who says what the app is: the operator, the host of its document, or nobody but itself. */
function voucherOf(client: ResolvedClient): ConsentPage['verifiedBy'] {
  if (isTrustedClient(client)) return 'operator';
  return client.origin === 'metadata-document' ? { host: new URL(client.id).host } : 'nobody';
}

/** Whether an app that is published on one host is called back on another. */
function isElsewhere({ uri, kind }: RedirectTarget, host: string): boolean {
  return kind === 'https' && new URL(uri).host !== host;
}
