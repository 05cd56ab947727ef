/** Consent as a step of a flow: the person sees exactly what will be granted, and only a posted answer decides. */
import { readForm } from '@portcullis/http';
import { type Parameters, type RedirectTarget, readParameters, type Scopes } from '@portcullis/protocol';
import type { Person } from '../accounts/sessions.ts';
import { isVouchedFor, type ResolvedClient } from '../clients/resolved-client.ts';
import { type ConsentPage, consentPage } from '../pages/consent.ts';
import { respondPage, respondRedirect } from '../pages/respond.ts';
import type { Route } from '../routes.ts';
import { advance, decline, pagePath } from './advance.ts';
import { appName } from './app-name.ts';
import { describeResource } from './describe-resource.ts';
import { type FlowUnderWay, findFlow } from './flows.ts';
import { isForeignForm } from './form-tokens.ts';
import type { Rooms } from './rooms.ts';

export function createConsent(rooms: Rooms): readonly Route[] {
  const { configuration, edge, formTokens, sessions } = rooms;
  return [
    edge.route('GET', '/consent', async (request) => {
      const flow = await findFlow(rooms, request, readParameters(new URL(request.url).searchParams));
      if ('missing' in flow) return edge.refuse('/consent', flow.missing);
      if (flow.subject === null || flow.person === null) return advance(rooms, flow);
      return show(rooms, flow, flow.person);
    }),

    edge.route('POST', '/consent', async (request) => {
      const form = await readForm(request);
      const flow = await findFlow(rooms, request, form);
      if ('missing' in flow) return edge.refuse('/consent', flow.missing);
      const action = { label: 'Look at the request again', href: pagePath('consent', flow.transaction.id) };
      // The token is bound to the session, so an answer of one person is never taken for another's.
      const isOurs = formTokens.matches(form.one('token'), 'consent', ...flow.bound);
      if (flow.subject === null || !isOurs || isForeignForm(request, configuration.issuer)) {
        return edge.refuse('/consent', 'stale-form', { action });
      }
      const approved = readApproved(form, flow.transaction.scopes);
      const decision = form.one('decision');
      if (decision === 'deny') return decline(rooms, flow);
      if (decision === 'switch') {
        return respondRedirect(pagePath('login', flow.transaction.id), [await sessions.end(request)]);
      }
      if (decision !== 'allow' || approved === null) return edge.refuse('/consent', 'bad-form', { action });
      return advance(rooms, { ...flow, transaction: { ...flow.transaction, approved } });
    }),
  ];
}

function show(rooms: Rooms, flow: FlowUnderWay, person: Person): Promise<Response> {
  const { configuration, formTokens, frame } = rooms;
  const { transaction, client, target } = flow;
  const page = consentPage(frame, {
    appName: appName(client),
    vouchedBy: voucherOf(client),
    resources: transaction.resources.map((resource) =>
      describeResource(configuration.resources.get(resource), resource, transaction.scopes),
    ),
    email: person.account.email,
    returnTo: target,
    flow: transaction.id,
    token: formTokens.mint('consent', ...flow.bound),
  });
  return respondPage(page, { formAction: onwardSources(target) });
}

/** Who says what the app is: the operator, the host of its document, or nobody but itself. */
function voucherOf(client: ResolvedClient): ConsentPage['vouchedBy'] {
  if (isVouchedFor(client)) return 'operator';
  return client.origin === 'metadata-document' ? { host: new URL(client.id).host } : 'nobody';
}

/** Parameters of the request: they are fixed in the transaction, so a form that carries one was made by somebody else. */
const FIXED = ['client_id', 'redirect_uri', 'resource', 'response_type', 'state', 'code_challenge'];

/**
 * What the person allows: everything that the page showed, or the part of it that the form names.
 * `null` when the form names more, or tries to change the request.
 */
function readApproved(form: Parameters, requested: Scopes): Scopes | null {
  if (FIXED.some((name) => form.all(name).length > 0)) return null;
  const chosen = form.all('scope');
  if (chosen.length === 0) return requested;
  return chosen.every((scope) => requested.includes(scope))
    ? requested.filter((scope) => chosen.includes(scope))
    : null;
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
