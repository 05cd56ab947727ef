/** The page of an app: what it says of itself, who allowed it what, and what an operator can change. */
import { escapedText, html, type Markup } from '@portcullis/authorization-server/pages';
import { type DescribedClient, describeClient, metadataHashOf } from '../../operations/clients.ts';
import { listClientConnections } from '../../operations/grants.ts';
import { doneNotice } from '../done.ts';
import { appAction, links } from '../links.ts';
import { appName, permissionsOf, serverOf } from '../names.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { permissionTags, relationsOf } from '../relations/grant-relations.ts';
import { recentPlots } from '../relations/recent-plots.ts';
import { relationsDrawing } from '../relations/relations.ts';
import { columnOf, empty, facts, section, table, tag, time } from '../ui/parts.ts';
import { ORIGINS, trustOf, trustTag } from './list.ts';

const DONE = {
  disabled:
    'The app is disabled, and everything that it held has ended. Undo accepts it again; what has ended stays so.',
  enabled: 'The app is accepted again.',
  verified: 'The app is verified: the consent page says so.',
  unverified: 'The verification was taken back: the consent page says so.',
};

/** Connections that the page lists. */
const MAX_LISTED = 50;

export const appPage: ConsoleRoute = definePage('/admin/app', async (request) => {
  const { admin, query, role } = request;
  const client = await describeClient(admin, query.get('id') ?? '');
  const [access, plots] = await Promise.all([
    listClientConnections(admin, client.id, MAX_LISTED),
    recentPlots(admin, { client: client.id }),
  ]);
  return {
    title: appName(client),
    lead: LEADS[trustOf(client)](client),
    ...(trustOf(client) === 'unverified' && {
      action: {
        label: 'Verify',
        href: appAction(client.id, 'verify', { metadata: metadataHashOf(client) }),
        isForOperators: true,
      },
    }),
    scripts: ['overview'],
    body: html`${doneNotice(request, DONE)}
<div class="columns"><div>
${section('Connections', connections(request, client, access))}
${plots}
${section('Client metadata', metadata(client))}
</div><div>
${section('App', appFacts(request, client))}
${role === 'operator' && section('Change', changes(client))}
</div></div>`,
  };
});

const LEADS: Readonly<Record<ReturnType<typeof trustOf>, (client: DescribedClient) => string>> = {
  trusted: () => 'Trusted: the app was defined by an operator.',
  verified: () => 'Verified by an operator, with the metadata that it has now.',
  unverified: ({ origin, id }) =>
    origin === 'metadata-document'
      ? `Published at ${new URL(id).host}, under a name that it chose itself: no operator verified it.`
      : 'The app registered itself under this name: no operator verified it.',
};

function connections(
  { admin }: ConsoleRequest,
  client: DescribedClient,
  { connections: grants, isMore }: Awaited<ReturnType<typeof listClientConnections>>,
): Markup {
  if (grants.length === 0)
    return empty(
      'No user has allowed this app anything',
      'A connection appears here when a user allows it something.',
    );
  const permission = permissionsOf(admin);
  const rows = grants.map(({ id, account, lastUsedAt, ...connection }) => [
    html`<a href="${links.user(account.id)}"><bdi>${account.email}</bdi></a>`,
    connection.resources.map((resource) => serverOf(admin, resource).name).join(', '),
    permissionTags(connection, permission),
    time(lastUsedAt, admin.clock()),
    html`<a class="button" href="${links.grant(id)}">Open<span class="unseen"> the connection of ${account.email}</span></a>`,
  ]);
  const drawing = relationsDrawing(
    'Who has access through the app, to what',
    relationsOf(admin, grants, new Map([[client.id, appName(client)]])),
  );
  return html`${drawing}
${table('Connections', ['User', 'Server', 'Permissions', columnOf.time('Used'), columnOf.actions], rows)}
${isMore && html`<p class="fact">Some of the connections: ${MAX_LISTED} are shown.</p>`}`;
}

function metadata({ metadata: given }: DescribedClient): Markup {
  return html`<pre tabindex="0" aria-label="Client metadata">${escapedText(JSON.stringify(given, null, 2))}</pre>`;
}

function appFacts({ admin }: ConsoleRequest, client: DescribedClient): Markup {
  const now = admin.clock();
  const at = (seconds: number | null) => (seconds === null ? null : time(seconds, now));
  return facts([
    ['State', client.disabledAt === null ? tag('Active', 'good') : tag('Disabled', 'bad')],
    ['Trust', trustTag(client)],
    ['Verified', at(client.verifiedAt)],
    ['Origin', ORIGINS[client.origin]],
    [
      client.origin === 'metadata-document' ? 'Fetched' : 'Created',
      client.origin === 'configured' ? null : time(client.createdAt, now),
    ],
    ['Used', at(client.lastUsedAt)],
    ['Expires', at(client.expiresAt)],
    ['Disabled', at(client.disabledAt)],
    ['Identifier', html`<code>${client.id}</code> <span class="fact">client_id</span>`],
    ['Events', html`<a href="${links.events({ client: client.id })}">Show what happened</a>`],
  ]);
}

function changes(client: DescribedClient): Markup {
  if (client.origin === 'configured')
    return html`<p class="quiet">The configuration file defines this app: change it there, and reload the server.</p>`;
  const to = (name: string, label: string, kind = '') =>
    html`<a class="button${kind}" href="${appAction(client.id, name)}">${label}</a>`;
  const unverify = client.verifiedAt !== null && to('unverify', 'Take verification back');
  if (client.origin === 'metadata-document')
    return html`<div class="buttons">${unverify}</div>
<p class="quiet">The app publishes its metadata itself. To keep it out, add its host to <code>refusedHosts</code> of <code>metadataDocuments</code> in the configuration.</p>`;
  return html`<div class="buttons">
${unverify}
${usesSecret(client) && to('rotate-secret', 'Rotate secret')}
${client.disabledAt === null ? to('disable', 'Disable', ' grave') : to('enable', 'Enable')}
${to('remove', 'Remove', ' grave')}
</div>`;
}

function usesSecret({ metadata: { token_endpoint_auth_method: method } }: DescribedClient): boolean {
  return typeof method === 'string' && method.startsWith('client_secret_');
}
