/** The page of a connection (a grant): what one user allowed one app, and its end. */
import { html } from '@portcullis/authorization-server/pages';
import { endGrant, listGrantAccounts, showGrant } from '../../operations/grants.ts';
import { defineAction } from '../action.ts';
import { doneAt } from '../done.ts';
import { links } from '../links.ts';
import { findAppName, permissionsOf, serverOf } from '../names.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { relationsOf } from '../relations/grant-relations.ts';
import { recentPlots } from '../relations/recent-plots.ts';
import { relationsDrawing } from '../relations/relations.ts';
import { columnOf, facts, section, table, time } from '../ui/parts.ts';

const PATH = '/admin/connections/{grantId}';

const idIn = ({ params }: ConsoleRequest) => params['grantId'] ?? '';

const connectionPage = definePage(PATH, async (request) => {
  const { admin } = request;
  const grant = await showGrant(admin, idIn(request));
  const [app, accounts, plots] = await Promise.all([
    findAppName(admin, grant.clientId),
    listGrantAccounts(admin, grant.id),
    recentPlots(admin, { grant: grant.id }),
  ]);
  const now = admin.clock();
  const servers = grant.resources.map((resource) => serverOf(admin, resource));
  const permission = permissionsOf(admin);
  return {
    title: `${app} and ${grant.account.email}`,
    lead: 'What one user allowed one app.',
    back: { label: grant.account.email, href: links.user(grant.account.id) },
    action: {
      label: 'End access',
      href: `${links.grant(grant.id)}/end`,
      isForOperators: true,
      isDangerous: true,
    },
    scripts: ['overview'],
    body: html`<div class="columns"><div>
${section('Access', relationsDrawing('Who has access to what through the app', relationsOf(admin, [grant], new Map([[grant.clientId, app]]))))}
${section('Permissions', html`<ul class="permissions">${grant.scopes.map((scope) => html`<li>${permission(scope, grant.resources)} <code>${scope}</code></li>`)}</ul>`)}
${
  accounts.length > 0 &&
  section(
    'Connected accounts',
    table(
      'Accounts that the user has connected at backends',
      ['Backend', 'Permissions', columnOf.time('Connected')],
      accounts.map(({ backend, scopes, createdAt }) => [
        html`<code>${backend}</code>`,
        scopes.join(', '),
        time(createdAt, now),
      ]),
    ),
  )
}
${plots}
</div><div>
${section(
  'Connection',
  facts([
    ['User', html`<a href="${links.user(grant.account.id)}"><bdi>${grant.account.email}</bdi></a>`],
    ['App', html`<a href="${links.app(grant.clientId)}"><bdi>${app}</bdi></a>`],
    [
      'Server',
      html`${servers.map(({ name, path }, index) => html`${index > 0 && ', '}${path === null ? name : html`<a href="${links.server(path)}">${name}</a>`}`)}`,
    ],
    ['Workspace', grant.workspace],
    ['Allowed', time(grant.createdAt, now)],
    ['Used', time(grant.lastUsedAt, now)],
    ['Expires', time(grant.expiresAt, now)],
    ['Sign-in at', grant.providerTokens?.identityProvider ?? null],
    ['Identifier', html`<code>${grant.id}</code>`],
    ['Events', html`<a href="${links.events({ grant: grant.id })}">Show what happened</a>`],
  ]),
)}
</div></div>`,
  };
});

const endRoutes = defineAction({
  path: `${PATH}/end`,
  async describe(request) {
    const grant = await showGrant(request.admin, idIn(request));
    const app = await findAppName(request.admin, grant.clientId);
    const servers = grant.resources.map((resource) => serverOf(request.admin, resource).name).join(', ');
    return {
      title: `End the access of ${app}`,
      back: { label: 'Back to the connection', href: links.grant(grant.id) },
      effects: [
        `Revokes every token with which ${app} acts for ${grant.account.email} at ${servers}, at once.`,
        'The user can allow the app again.',
      ],
      button: 'End access',
      isDangerous: true,
    };
  },
  async perform(request) {
    const { account } = await endGrant(request, idIn(request));
    return doneAt(links.user(account.id), 'ended-one');
  },
});

export const connectionRoutes: readonly ConsoleRoute[] = [connectionPage, ...endRoutes];
