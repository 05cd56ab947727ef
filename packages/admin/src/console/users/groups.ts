/** The groups of users with their origin, and what a group or a user may call by which rules. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { findGroups, type Group } from '../../operations/accounts.ts';
import type { ServerAccess } from '../../operations/policy/access.ts';
import { findAccess } from '../../operations/policy/explain.ts';
import { findUser } from '../../operations/users.ts';
import { links } from '../links.ts';
import { type ConsolePage, type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { countOf, empty, section, table, tag } from '../ui/parts.ts';

/** Where a user has a group from. */
export const GROUP_ORIGINS: Readonly<Record<keyof Group['origins'], string>> = {
  operator: 'set here',
  'sign-in': 'by sign-in',
  scim: 'by SCIM',
};

/** Groups, and members of one, that are listed. */
const MAX_LISTED = 200;

export const groupRoutes: readonly ConsoleRoute[] = [
  definePage(links.groups, async ({ admin }) => {
    const groups = await findGroups(admin.accounts);
    return {
      title: 'Groups',
      lead: 'What users are in: set here, of their last sign-in at the identity provider, or provisioned by SCIM.',
      body:
        groups.length === 0
          ? empty('No user is in a group', 'Groups come with users of an identity provider, or are set here.')
          : groupTable(groups),
    };
  }),
  definePage(links.access, async (request) => {
    const { query } = request;
    const group = query.get('group') ?? '';
    return group === '' ? userAccess(request, query.get('user') ?? '') : groupAccess(request, group);
  }),
];

function groupTable(groups: readonly Group[]): Markup {
  const rows = groups
    .slice(0, MAX_LISTED)
    .map(({ name, members, origins }) => [
      html`<a href="${links.accessOfGroup(name)}"><bdi>${name}</bdi></a>`,
      countOf(members.length, 'user'),
      html`<span class="tags">${originsOf(origins).map((text) => tag(text))}</span>`,
    ]);
  return html`${table('Groups', ['Group', 'Members', 'Origin'], rows)}
${groups.length > MAX_LISTED && html`<p class="fact">The first ${MAX_LISTED} are shown.</p>`}`;
}

function originsOf(origins: Group['origins']): readonly string[] {
  return Object.entries(GROUP_ORIGINS).flatMap(([origin, text]) => {
    const count = origins[origin as keyof Group['origins']];
    return count === 0 ? [] : [`${count} ${text}`];
  });
}

async function userAccess(request: ConsoleRequest, named: string): Promise<ConsolePage> {
  const user = await findUser(request.admin, named);
  return {
    title: 'What this user may call',
    lead: user.email,
    back: { label: user.email, href: links.user(user.id) },
    body: await accessTables(request, { user: user.id }),
  };
}

async function groupAccess(request: ConsoleRequest, name: string): Promise<ConsolePage> {
  const groups = await findGroups(request.admin.accounts);
  const members = groups.find((group) => group.name === name)?.members ?? [];
  return {
    title: 'What this group may call',
    lead: name,
    back: { label: 'Groups', href: links.groups },
    body: html`<div class="columns"><div>
${await accessTables(request, { group: name })}
</div><div>
${section(countOf(members.length, 'member'), memberList(members))}
</div></div>`,
  };
}

function memberList(members: Group['members']): Markup {
  if (members.length === 0) return html`<p class="quiet">No user is in this group.</p>`;
  const rows = members
    .slice(0, MAX_LISTED)
    .map(({ id, email }) => [html`<a href="${links.user(id)}"><bdi>${email}</bdi></a>`]);
  return html`${table('Members', ['Account'], rows)}
${members.length > MAX_LISTED && html`<p class="fact">The first ${MAX_LISTED} are shown.</p>`}`;
}

/** A table for each server. */
async function accessTables(
  { admin }: ConsoleRequest,
  caller: { readonly user: string } | { readonly group: string },
): Promise<Markup> {
  const found = await findAccess(admin, caller);
  if (found.length === 0) return empty('No server has rules', 'Rules belong to servers behind the gateway.');
  const names = new Map(admin.servers().map(({ path, name }) => [path, name]));
  return html`${found.map(({ server, tools }) =>
    section(
      names.get(server) ?? server,
      table(`Tools of ${server}`, ['Tool', 'Outcome', 'Rule'], tools.map(toolRow)),
    ),
  )}`;
}

function toolRow({ tool, outcome, because, rules }: ServerAccess['tools'][number]): readonly Markup[] {
  const state =
    outcome === null
      ? tag('Refused', 'bad')
      : outcome === 'allowed'
        ? tag('Allowed', 'good')
        : html`${tag('Depends', 'warn')} ${outcome}`;
  const reason = because ?? rules.at(-1);
  return [html`<code>${tool}</code>`, state, reason === undefined ? html`–` : html`<code>${reason}</code>`];
}
