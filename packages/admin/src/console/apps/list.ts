/** The list of apps: clients of the configuration, those that operators added, and those that registered themselves. */
import { html, type Markup, monogram } from '@portcullis/authorization-server/pages';
import {
  configuredClients,
  type DescribedClient,
  describeStored,
  isKnownClient,
} from '../../operations/clients.ts';
import { searchList } from '../../operations/search-lists.ts';
import { doneNotice } from '../done.ts';
import { links } from '../links.ts';
import { appName, distinctiveIdOf } from '../names.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { empty, filterBar, pageLinks, tag, time } from '../ui/parts.ts';
import { sortedTable } from '../ui/sorted-table.ts';

/** Rows of a page. */
const LIMIT = 50;

/** Where a client is from, in words. */
export const ORIGINS: Readonly<Record<DescribedClient['origin'], string>> = {
  configured: 'Configuration file',
  administered: 'Added by an operator',
  registered: 'Registered itself',
  'metadata-document': 'Metadata document',
};

const FILTERS = [
  ['', 'All'],
  ['trusted', 'Trusted'],
  ['unverified', 'Unverified'],
  ['registered', 'Registered themselves'],
  ['unused', 'Never used'],
  ['disabled', 'Disabled'],
] as const;

export const appListPage: ConsoleRoute = definePage(links.apps, async (request) => {
  const { admin, query } = request;
  const after = query.get('after') ?? '';
  const matches = matcherOf(query);
  const { items, next } = await searchList(
    async (from, limit) => (await admin.clients.list(from, limit)).map(describeStored),
    ({ id }) => id,
    matches,
    after,
    LIMIT,
  );
  const own = after === '' ? configuredClients(admin).filter(matches ?? (() => true)) : [];
  const all = [...own, ...items];
  return {
    title: 'Apps',
    lead: 'Clients that users allow access, and clients that act for themselves.',
    action: { label: 'Add an app', href: `${links.apps}/add`, isForOperators: true },
    body: html`${doneNotice(request, { removed: 'The app was removed with all that it held.' })}
${filterBar(request, 'Search by name or identifier', FILTERS)}
${all.length === 0 ? nothingFound(request) : appTable(request, all, next === null && after === '')}
${pageLinks(request, next)}`,
  };
});

/** Who knows that the app is what its name says. */
export function trustOf(client: DescribedClient): 'trusted' | 'verified' | 'unverified' {
  if (client.verifiedAt !== null) return 'verified';
  return isKnownClient(client) ? 'trusted' : 'unverified';
}

export function trustTag(client: DescribedClient): Markup {
  const trust = trustOf(client);
  if (trust === 'unverified') return tag('Unverified name', 'warn');
  return tag(trust === 'trusted' ? 'Trusted' : 'Verified', 'good');
}

/** `null`: all match. */
function matcherOf(query: URLSearchParams): ((client: DescribedClient) => boolean) | null {
  const [text, show] = [(query.get('q') ?? '').trim().toLowerCase(), query.get('show') ?? ''];
  if (text === '' && show === '') return null;
  return (client) =>
    (client.id.toLowerCase().includes(text) || appName(client).toLowerCase().includes(text)) &&
    (show !== 'trusted' || isKnownClient(client)) &&
    (show !== 'unverified' || !isKnownClient(client)) &&
    (show !== 'registered' || ['registered', 'metadata-document'].includes(client.origin)) &&
    (show !== 'unused' || (client.lastUsedAt === null && client.origin !== 'configured')) &&
    (show !== 'disabled' || client.disabledAt !== null);
}

function nothingFound({ query }: ConsoleRequest): Markup {
  return query.size > 0
    ? empty('No app matches', 'Search for a part of the name or identifier, or show all apps.', {
        label: 'Show all',
        href: links.apps,
      })
    : empty(
        'No app yet',
        'Apps appear here when they register, when an operator adds them, or when the configuration file lists them.',
      );
}

function appTable(request: ConsoleRequest, all: readonly DescribedClient[], isWhole: boolean): Markup {
  const rowOf = (client: DescribedClient) => [
    html`<a href="${links.app(client.id)}">${monogram(appName(client), client.id)}<bdi>${appName(client)}</bdi></a>${trustOf(client) === 'unverified' && html` <code class="quiet">${distinctiveIdOf(client.id)}</code>`}`,
    trustTag(client),
    ORIGINS[client.origin],
    client.disabledAt === null ? 'Active' : tag('Disabled', 'bad'),
    client.lastUsedAt === null
      ? html`<span class="quiet">${client.origin === 'configured' ? 'not recorded' : 'never'}</span>`
      : time(client.lastUsedAt, request.admin.clock()),
  ];
  const columns = [
    { heading: 'App', sort: ['app', appName] },
    { heading: 'Trust', sort: ['trust', trustOf] },
    { heading: 'Origin', sort: ['origin', ({ origin }: DescribedClient) => origin] },
    { heading: 'State' },
    {
      heading: 'Used',
      kind: 'time',
      sort: ['used', ({ lastUsedAt }: DescribedClient) => lastUsedAt ?? 0],
    },
  ] as const;
  return sortedTable(request, 'Apps', columns, all, rowOf, isWhole);
}
