/** Consent as a step of a flow: the person sees exactly what will be granted, and only a posted answer decides. */
import { type HttpRequest, type HttpResponse, queryOf, readFormBody } from '@portcullis/http';
import { type Parameters, type RedirectTarget, readParameters } from '@portcullis/protocol';
import { type ConsentPage, consentPage } from '../consent/consent-view.ts';
import { upstreamScopesFor } from '../federation/identity-provider.ts';
import type { Route } from '../routes.ts';
import type { ErrorPage } from '../ui/error-pages.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { User } from '../users/sessions.ts';
import { advance, decline, pagePath } from './advance.ts';
import { type Deliberation, deliberate, fingerprint } from './deliberation.ts';
import { describeConsent } from './describe-consent.ts';
import type { FlowUnderWay } from './flow.ts';
import { findFlow } from './flows.ts';
import { isForeignForm } from './form-tokens.ts';
import { type Choice, readApproval } from './read-approval.ts';
import type { Rooms } from './rooms.ts';

/** What the person was asked, and in which flow. */
interface Matter {
  readonly flow: FlowUnderWay;
  /** `null`: whom a third party will name afterwards. */
  readonly user: User | null;
  readonly deliberation: Deliberation;
  /** Whether they look for another workspace. */
  readonly afresh: boolean;
}

export function createConsent(rooms: Rooms): readonly Route[] {
  const { configuration, edge, formTokens, layout, handOver } = rooms;
  return [
    edge.route('GET', '/consent', async (request) => {
      const parameters = readParameters(queryOf(request));
      const flow = await findFlow(rooms, request, parameters);
      if ('missing' in flow) return edge.refuse('/consent', flow.missing);
      if (!canAsk(flow)) return advance(rooms, flow);
      const matter = await consider(rooms, flow, parameters);
      if (flow.identityProvider !== null || matter.user === null) return show(rooms, matter);
      const asked = { ...matter, accountId: matter.user.account.id };
      return handOver.toConsent(asked, layout.language) ?? show(rooms, matter);
    }),

    edge.route('POST', '/consent', async (request) => {
      const form = await readFormBody(request);
      const flow = await findFlow(rooms, request, form);
      if ('missing' in flow) return edge.refuse('/consent', flow.missing);
      // The token is bound to the session, so an answer of one person is never taken for another's.
      const isOurs = formTokens.matches(form.one('token'), 'consent', ...flow.bound);
      if (!canAsk(flow) || !isOurs || isForeignForm(request, configuration.issuer)) {
        return refuse(rooms, flow, 'stale-form');
      }
      if (FIXED.some((name) => form.all(name).length > 0)) return refuse(rooms, flow, 'bad-form');
      switch (form.one('decision')) {
        case 'allow':
          return allow(rooms, form, flow);
        case 'deny':
          return decline(rooms, flow);
        case 'switch':
          return signInAgain(rooms, request, flow);
        default:
          return refuse(rooms, flow, 'bad-form');
      }
    }),
  ];
}

/** Whether there is somebody to ask: who is signed in, or whom a third party will name. */
function canAsk({ subject, identityProvider }: FlowUnderWay): boolean {
  return subject !== null || identityProvider !== null;
}

async function consider(
  { configuration }: Rooms,
  flow: FlowUnderWay,
  parameters: Parameters,
): Promise<Matter> {
  const afresh = parameters.one('afresh') === 'yes';
  const deliberation = await deliberate(configuration, flow, flow.subject, afresh);
  return { flow, user: flow.subject === null ? null : flow.user, deliberation, afresh };
}

/** Grants what was chosen, if it was asked for and the page showed what is asked for now. */
async function allow(rooms: Rooms, form: Parameters, flow: FlowUnderWay): Promise<HttpResponse> {
  const matter = await consider(rooms, flow, form);
  const choice = readChoice(form);
  const approval = readApproval(matter.deliberation, choice);
  if (approval === 'foreign') return refuse(rooms, flow, 'bad-form');
  if (typeof approval === 'string') return show(rooms, matter, { error: approval, chosen: choice });
  const seen = fingerprint(matter.deliberation);
  if (!rooms.formTokens.matches(form.one('seen'), 'consent', ...flow.bound, seen)) {
    return refuse(rooms, flow, 'stale-form');
  }
  return advance(rooms, { ...flow, approval });
}

/** Somebody else is to answer. */
async function signInAgain(
  { configuration, sessions }: Rooms,
  request: HttpRequest,
  { transaction, identityProvider }: FlowUnderWay,
): Promise<HttpResponse> {
  if (identityProvider !== null)
    await configuration.store.setTransactionIdentityProvider(transaction.id, null);
  return respondRedirect(`${pagePath('login', transaction.id)}&again=yes`, [await sessions.end(request)]);
}

function refuse(
  { edge, layout }: Rooms,
  { transaction }: FlowUnderWay,
  errorPage: ErrorPage,
): Promise<HttpResponse> {
  const action = { label: layout.text('consent.review-again'), href: pagePath('consent', transaction.id) };
  return edge.refuse('/consent', errorPage, { action });
}

/** @param before what was wrong with the answer before, and what it chose: nothing that was switched off comes back on by itself */
function show(
  rooms: Rooms,
  matter: Matter,
  before: Pick<ConsentPage, 'error' | 'chosen'> = { error: null, chosen: null },
): Promise<HttpResponse> {
  const { configuration, formTokens, layout } = rooms;
  const { flow, user, deliberation, afresh } = matter;
  const { transaction, target, bound, identityProvider } = flow;
  const page = consentPage(layout, {
    ...describeConsent(layout, flow, deliberation),
    account:
      user === null
        ? { provider: identityProvider?.name ?? '', hasOthers: hasOtherWays(configuration) }
        : { email: user.account.email },
    ...(identityProvider !== null && {
      identityProvider: {
        name: identityProvider.name,
        scopes: upstreamScopesFor(identityProvider, [
          ...deliberation.question.asked.map(({ scope }) => scope),
          ...deliberation.question.kept,
        ]),
      },
    }),
    ...before,
    othersPath: deliberation.hasOthers ? `${pagePath('consent', transaction.id)}&afresh=yes` : null,
    fields: {
      flow: transaction.id,
      token: formTokens.mint('consent', ...bound),
      seen: formTokens.mint('consent', ...bound, fingerprint(deliberation)),
      afresh: afresh ? 'yes' : null,
    },
  });
  return respondPage(page, { status: before.error === null ? 200 : 400, formAction: onwardSources(target) });
}

/** Whether the page to sign in offers more than one third party. */
function hasOtherWays({ localAccounts, identityProviders }: Rooms['configuration']): boolean {
  return localAccounts || identityProviders.size > 1;
}

/** Parameters of the request: they are fixed in the transaction, so a form that carries one was made by somebody else. */
const FIXED = ['client_id', 'redirect_uri', 'resource', 'response_type', 'state', 'code_challenge'];

function readChoice(form: Parameters): Choice {
  return { scopes: form.all('scope'), workspace: form.one('workspace') ?? '' };
}

/**
 * Where the answer's redirects may lead, as sources of `form-action`. Chromium holds every redirect that follows a form to
 * that directive, the client's own further ones too; where those lead, only the client knows. So the target itself is
 * named, and beside it any place to which a redirect URI could lead.
 */
function onwardSources({ uri, kind }: RedirectTarget): readonly string[] {
  const target = new URL(uri);
  const onward = ['https:', 'http://localhost:*', 'http://127.0.0.1:*'];
  if (kind === 'private-use') return [target.protocol, ...onward];
  // A source cannot name an IPv6 address.
  return [target.hostname.startsWith('[') ? target.protocol : target.origin, ...onward];
}
