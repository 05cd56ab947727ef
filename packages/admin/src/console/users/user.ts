/** The page of a user: what they may do through which app, where they are signed in, and what an operator can change. */
import type { ListedConnection } from '@portcullis/authorization-server';
import { html, type Markup, monogram } from '@portcullis/authorization-server/pages';
import type { AccountRole, SessionRecord } from '@portcullis/authorization-server/store';
import type { Administration } from '../../operations/administration.ts';
import { listUserGrants } from '../../operations/grants.ts';
import { listUserSessions, showUser, type UserDetails } from '../../operations/users.ts';
import { doneNotice } from '../done.ts';
import { links } from '../links.ts';
import { findAppNames, permissionsOf, serverOf } from '../names.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { permissionTags, relationsOf } from '../relations/grant-relations.ts';
import { recentPlots } from '../relations/recent-plots.ts';
import { relationsDrawing } from '../relations/relations.ts';
import { columnOf, countOf, empty, facts, section, table, tag, time } from '../ui/parts.ts';
import { GROUP_ORIGINS } from './groups.ts';

const DONE = {
  disabled: 'The account is disabled, and everything that it allowed has ended.',
  enabled: 'The account can sign in again.',
  ended: 'Every session and connection of the account has ended.',
  'ended-one': 'The connection has ended.',
  role: 'The role was changed.',
  groups: 'The groups were changed.',
  factors: 'The second factors were removed.',
};

/** Connections that the drawing shows; more would not be read. */
const MAX_DRAWN = 40;

export const userPage: ConsoleRoute = definePage(`${links.users}/{userId}`, async (request) => {
  const { admin, params } = request;
  const user = await showUser(admin, params['userId'] ?? '');
  const [role, sessions, connections, plots] = await Promise.all([
    admin.findRole({ accountId: user.id, clientId: '' }),
    listUserSessions(admin, user.id),
    listUserGrants(admin, user.id),
    recentPlots(admin, { user: user.id }),
  ]);
  const clients = connections.map(({ clientId }) => clientId);
  const names = await findAppNames(admin, clients);
  return {
    title: user.name ?? user.email,
    ...(user.name !== null && { lead: user.email }),
    scripts: ['overview'],
    body: html`${doneNotice(request, DONE)}
<div class="columns"><div>
${section('Access', access(admin, connections, names))}
${plots}
${section('Signed in', sessionTable(request, sessions))}
</div><div>
${section('Account', accountFacts(request, user, role))}
${request.role === 'operator' && section('Change', changes(user))}
</div></div>`,
  };
});

function access(
  admin: Administration,
  connections: readonly ListedConnection[],
  names: ReadonlyMap<string, string>,
): Markup {
  if (connections.length === 0)
    return empty('No app has access', 'A connection appears here when the user allows an app something.');
  const permission = permissionsOf(admin);
  const rows = connections.map((connection) => [
    html`<a href="${links.grant(connection.id)}">${monogram(names.get(connection.clientId) ?? connection.clientId, connection.clientId)}<bdi>${names.get(connection.clientId) ?? connection.clientId}</bdi></a>`,
    connection.resources.map((resource) => serverOf(admin, resource).name).join(', '),
    permissionTags(connection, permission),
    time(connection.lastUsedAt, admin.clock()),
  ]);
  const drawing = relationsDrawing(
    'What the user has access to, through which app',
    relationsOf(admin, connections.slice(0, MAX_DRAWN), names),
  );
  return html`${drawing}
${table('Connections', ['App', 'Server', 'Permissions', columnOf.time('Used')], rows)}`;
}

function sessionTable({ admin }: ConsoleRequest, sessions: readonly SessionRecord[]): Markup {
  if (sessions.length === 0) return html`<p class="quiet">Not signed in in any browser.</p>`;
  const rows = sessions.map(({ browser, address, methods = [], createdAt, expiresAt }) => [
    html`<bdi>${browser ?? 'Unknown browser'}</bdi>`,
    html`<code>${address ?? '–'}</code>`,
    methods.join(', '),
    time(createdAt, admin.clock()),
    time(expiresAt, admin.clock()),
  ]);
  return table(
    'Browsers in which the user is signed in',
    ['Browser', 'Address', 'Methods', columnOf.time('Since'), columnOf.time('Ends')],
    rows,
  );
}

/** @param role as it counts: of the account, or of a group */
function accountFacts({ admin }: ConsoleRequest, user: UserDetails, role: AccountRole | null): Markup {
  const { totp, passkeys } = user.secondFactors;
  const factors = [totp && 'authenticator app', passkeys > 0 && countOf(passkeys, 'passkey')].filter(Boolean);
  return facts([
    ['State', user.disabledAt === null ? tag('Active', 'good') : tag('Disabled', 'bad')],
    ['Role', role === null || role === user.role ? (user.role ?? 'none') : `${role}, by a group`],
    ['Signs in', user.emailKey.includes('@') ? 'here' : 'at an identity provider'],
    ['Second factor', factors.length === 0 ? 'none' : factors.join(', ')],
    [
      'Groups',
      user.memberships.length === 0
        ? 'none'
        : html`<span class="tags">${user.memberships.map(({ name, origin }) => html`<a href="${links.accessOfGroup(name)}">${tag(`${name}, ${GROUP_ORIGINS[origin]}`)}</a>`)}</span>`,
    ],
    ['Rules', html`<a href="${links.accessOfUser(user.id)}">Show what they allow this user</a>`],
    ['Created', time(user.createdAt, admin.clock())],
    ['Identifier', html`<code>${user.id}</code>`],
    ['Events', html`<a href="${links.events({ user: user.id })}">Show what happened</a>`],
  ]);
}

function changes({ id, disabledAt, emailKey }: UserDetails): Markup {
  const isLocal = emailKey.includes('@');
  const to = (name: string, label: string, kind = '') =>
    html`<a class="button${kind}" href="${links.user(id)}/${name}">${label}</a>`;
  return html`<div class="buttons">
${to('role', 'Change role')}
${isLocal && to('groups', 'Change groups')}
${isLocal && disabledAt === null && to('reset', 'Create reset link')}
${disabledAt !== null && to('enable', 'Enable')}
</div>
<div class="panel destructive"><h3>What ends access</h3><div class="buttons">
${to('end', 'End all access', ' grave')}
${disabledAt === null && to('disable', 'Disable', ' grave')}
${to('factors', 'Remove second factors', ' grave')}
${to('remove', 'Remove', ' grave')}
</div></div>`;
}
