/** What the application is told when it asks what a challenge is about: the same as our own pages would say. */
import { checkRedirectUri } from '@portcullis/protocol';
import { type Deliberation, deliberate } from '../authorize/deliberation.ts';
import { describeAsker, describeConsent } from '../authorize/describe-consent.ts';
import type { Flow } from '../authorize/flow.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { findConsentWarning } from '../consent/consent-view.ts';
import type { AccountRecord } from '../store/index.ts';
import type { AccountSection } from '../ui/account-tabs.ts';
import { loginPath } from '../ui/account-tabs.ts';
import type { Members } from './signed-request.ts';
import type { Challenge } from './tickets.ts';

/** A consent that is asked for, as it stands now. */
export interface AskedConsent {
  readonly flow: Flow;
  readonly account: AccountRecord;
  readonly deliberation: Deliberation;
}

/** The request of an app that a challenge belongs to, without its browser; `null` when it is no longer open. */
export async function loadFlow({ configuration, findClient }: Rooms, id: string): Promise<Flow | null> {
  const transaction = await configuration.store.findTransaction(id, configuration.clock());
  if (transaction === null) return null;
  const client = await findClient(transaction.clientId, 'resume');
  if (client === null) return null;
  const { redirect_uris } = client.metadata;
  const target = checkRedirectUri(redirect_uris, transaction.redirectUri, configuration.redirects);
  return { transaction, client, target, identityProvider: null, subject: null, approval: null };
}

/** `null` when nobody can answer it any more. */
export async function loadAskedConsent(rooms: Rooms, challenge: Challenge): Promise<AskedConsent | null> {
  const { store } = rooms.configuration;
  const flow = await loadFlow(rooms, challenge.loginTarget['flow'] ?? '');
  const account = challenge.accountId === null ? null : await store.findAccount(challenge.accountId);
  if (flow === null || account === null || account.disabledAt !== null) return null;
  const afresh = challenge.loginTarget['afresh'] === 'yes';
  return { flow, account, deliberation: await deliberate(rooms.configuration, flow, account.id, afresh) };
}

/** @param flow the app's request; `null` when somebody signs in for the pages of their own account */
export function describeLogin({ layout }: Rooms, challenge: Challenge, flow: Flow | null): Members {
  const { kind, until, language, isFresh, loginTarget } = challenge;
  return {
    kind,
    expires_at: until,
    language,
    fresh: isFresh,
    page: flow === null ? (loginTarget['to'] ?? 'connections') : null,
    ...(flow === null ? { app: null, return_to: null } : tellAsker(flow, describeAsker(layout, flow))),
  };
}

export function describeAskedConsent(
  { layout, configuration }: Rooms,
  { kind, until, language, loginTarget }: Challenge,
  { flow, account, deliberation }: AskedConsent,
): Members {
  const page = describeConsent(layout, flow, deliberation);
  const base = `${new URL(configuration.issuer).origin}/`;
  const at = (path: string) => new URL(path, base).href;
  const transactionId = encodeURIComponent(loginTarget['flow'] ?? '');
  return {
    kind,
    expires_at: until,
    language,
    account: { id: account.id, email: account.email },
    ...tellAsker(flow, page),
    warning: findConsentWarning(page),
    server: { ...page.server, resource: deliberation.resource.resource },
    scopes: page.requested.map(({ scope, sentence, isNew, isOptional, includes }) => ({
      scope,
      sentence,
      new: isNew,
      optional: isOptional,
      includes,
    })),
    kept: page.alreadyGranted,
    known: page.isKnown,
    workspace: 'chosen' in page.workspace ? page.workspace.chosen : null,
    workspaces: 'choices' in page.workspace ? page.workspace.choices : [],
    other_workspaces_url: deliberation.hasOthers ? at(`/consent?flow=${transactionId}&afresh=yes`) : null,
    other_account_url: at(`/login?flow=${transactionId}&again=yes`),
  };
}

/** Where the browser begins this step again, with a new challenge. */
export function againPath({ kind, loginTarget }: Challenge): string {
  const { flow, to = 'connections', again } = loginTarget;
  if (flow === undefined) return loginPath(to as AccountSection, again !== undefined);
  return `/${kind}?flow=${encodeURIComponent(flow)}`;
}

type DescribedAsker = ReturnType<typeof describeAsker>;

/** The app, and where it is called back. */
function tellAsker(
  { client }: Flow,
  { appName, verifiedBy: vouchedBy, returnTo, redirectsElsewhere: isElsewhere }: DescribedAsker,
) {
  const isHost = typeof vouchedBy === 'object';
  return {
    app: {
      client_id: client.id,
      name: appName,
      verified_by: isHost ? 'host' : vouchedBy,
      host: isHost ? vouchedBy.host : null,
    },
    return_to: { kind: returnTo.kind, display: returnTo.display, elsewhere: isElsewhere },
  };
}
