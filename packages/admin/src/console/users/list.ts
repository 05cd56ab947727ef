/** The list of users: accounts that sign in here or at an identity provider. */
import type { ListedAccount } from '@portcullis/authorization-server';
import { html, type Markup, monogram } from '@portcullis/authorization-server/pages';
import type { AccountRole } from '@portcullis/authorization-server/store';
import type { Administration } from '../../operations/administration.ts';
import { searchList } from '../../operations/search-lists.ts';
import { doneNotice } from '../done.ts';
import { links } from '../links.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { empty, filterBar, pageLinks, tag, time } from '../ui/parts.ts';
import { sortedTable } from '../ui/sorted-table.ts';

/** Rows of a page. */
const LIMIT = 50;

const FILTERS = [
  ['', 'All'],
  ['operators', 'Operators'],
  ['viewers', 'Viewers'],
  ['disabled', 'Disabled'],
] as const;

const ROLES: ReadonlyMap<string, AccountRole> = new Map([
  ['operators', 'operator'],
  ['viewers', 'viewer'],
]);

export const userRoutes: readonly ConsoleRoute[] = [
  definePage(links.users, async (request) => {
    const { admin, query } = request;
    const { items, next } = await searchList(
      admin.accounts.list,
      ({ emailKey }) => emailKey,
      matcherOf(admin, query),
      query.get('after') ?? '',
      LIMIT,
    );
    const users = await Promise.all(items.map(async (one) => ({ ...one, role: await roleOf(admin, one) })));
    return {
      title: 'Users',
      lead: 'Accounts that sign in here or at an identity provider.',
      action: { label: 'Invite a user', href: `${links.users}/invite`, isForOperators: true },
      body: html`${doneNotice(request, { removed: 'The account was removed.' })}
${filterBar(request, 'Search by address', FILTERS)}
<p class="fact"><a href="${links.groups}">Groups and where they come from</a></p>
${items.length === 0 ? nothingFound(request) : userTable(request, users, next === null && !query.has('after'))}
${pageLinks(request, next)}`,
    };
  }),
];

/** Of the account or of the groups of its user; of a disabled account what it would have again. */
async function roleOf(
  { findRole }: Administration,
  { id, role }: ListedAccount,
): Promise<AccountRole | null> {
  if (role === 'operator') return role;
  return (await findRole({ accountId: id, clientId: '' })) ?? role;
}

/** `null`: all match. */
function matcherOf(
  admin: Administration,
  query: URLSearchParams,
): ((account: ListedAccount) => boolean | Promise<boolean>) | null {
  const [text, show] = [(query.get('q') ?? '').trim().toLowerCase(), query.get('show') ?? ''];
  if (text === '' && show === '') return null;
  const shownRole = ROLES.get(show);
  return (account) => {
    const { email, id, disabledAt } = account;
    if (!email.toLowerCase().includes(text) && id !== text) return false;
    if (shownRole !== undefined) return roleOf(admin, account).then((role) => role === shownRole);
    return show !== 'disabled' || disabledAt !== null;
  };
}

function nothingFound({ query, role }: ConsoleRequest): Markup {
  const isFiltered = query.has('q') || query.has('show') || query.has('after');
  if (isFiltered)
    return empty('No account matches', 'Search for a part of the address, or show all accounts.', {
      label: 'Show all',
      href: links.users,
    });
  const next = { label: 'Invite a user', href: `${links.users}/invite` };
  return empty(
    'No account yet',
    'Accounts appear here with the first sign-in or invitation.',
    role === 'operator' ? next : undefined,
  );
}

function userTable(request: ConsoleRequest, users: readonly ListedAccount[], isWhole: boolean): Markup {
  const rowOf = (user: ListedAccount) => [
    html`<a href="${links.user(user.id)}">${monogram(user.email.replace(/@.*/, ''), user.id)}<bdi>${user.email}</bdi></a>`,
    user.role === null ? '' : tag(user.role === 'operator' ? 'Operator' : 'Viewer'),
    user.disabledAt === null ? 'Active' : tag('Disabled', 'bad'),
    user.emailKey.includes('@') ? 'Here' : 'Identity provider',
    time(user.createdAt, request.admin.clock()),
  ];
  const columns = [
    { heading: 'Account', sort: ['account', ({ email }: ListedAccount) => email] },
    { heading: 'Role', sort: ['role', ({ role }: ListedAccount) => role ?? '~'] },
    { heading: 'State' },
    { heading: 'Signs in' },
    { heading: 'Created', kind: 'time', sort: ['created', ({ createdAt }: ListedAccount) => createdAt] },
  ] as const;
  return sortedTable(request, 'Accounts', columns, users, rowOf, isWhole);
}
