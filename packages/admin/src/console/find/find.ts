/** Finds a user, an app, a server, an event reference or an action: a page of its own, which the command palette shows as well. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { describeStored } from '../../operations/clients.ts';
import { readReference } from '../../operations/refusals.ts';
import { searchList } from '../../operations/search-lists.ts';
import { type ConsoleLink, links, SECTIONS } from '../links.ts';
import { appName } from '../names.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { empty, filterBar } from '../ui/parts.ts';

/** What was found. */
interface Hit extends ConsoleLink {
  readonly kind: string;
}

/** Hits of each kind. */
const MAX_HITS = 6;

const PAGES: readonly Hit[] = SECTIONS.map(({ name, label }) => ({
  label: name === 'policy' ? 'Policy: explain a call' : label,
  kind: 'Page',
  href: links[name],
}));

/** For operators. */
const ACTIONS: readonly Hit[] = [
  { label: 'Invite a user', kind: 'Action', href: `${links.users}/invite` },
  { label: 'Add an app', kind: 'Action', href: `${links.apps}/add` },
  { label: 'Protect a server', kind: 'Action', href: links.setup },
  { label: 'Add an identity provider', kind: 'Action', href: links.setupProvider },
  { label: 'Rotate the signing key', kind: 'Action', href: `${links.settings}/rotate-key` },
  { label: 'Create an initial access token', kind: 'Action', href: `${links.settings}/create-token` },
];

export const findPage: ConsoleRoute = definePage(links.find, async (request) => {
  const text = (request.query.get('q') ?? '').trim();
  const hits = await findHits(request, text);
  return {
    title: 'Find',
    lead: 'A user, an app, a server, the reference of an error page, or an action.',
    body: html`${filterBar(request, 'Find')}
${hits.length === 0 ? empty('Nothing was found', 'Search for a part of an address, a name or an identifier.') : hitList(hits)}`,
  };
});

function hitList(hits: readonly Hit[]): Markup {
  return html`<ul class="hits" data-hits>${hits.map(({ label, kind, href }) => html`<li><a href="${href}"><bdi>${label}</bdi><small>${kind}</small></a></li>`)}</ul>`;
}

async function findHits({ admin, role }: ConsoleRequest, text: string): Promise<readonly Hit[]> {
  const wanted = text.toLowerCase();
  const isWanted = (...texts: readonly string[]) => texts.some((one) => one.toLowerCase().includes(wanted));
  const destinations = [...PAGES, ...(role === 'operator' ? ACTIONS : [])].filter(({ label }) =>
    isWanted(label),
  );
  if (wanted === '') return destinations;
  const [users, apps] = await Promise.all([
    searchList(
      admin.accounts.list,
      ({ emailKey }) => emailKey,
      ({ email, id }) => isWanted(email, id),
      '',
      MAX_HITS,
    ),
    searchList(
      async (after, limit) => (await admin.clients.list(after, limit)).map(describeStored),
      ({ id }) => id,
      (client) => isWanted(client.id, appName(client)),
      '',
      MAX_HITS,
    ),
  ]);
  const servers = admin.servers().filter(({ name, path }) => isWanted(name, path));
  return [
    ...referenceHits(text),
    ...users.items.map(({ id, email }) => ({ label: email, kind: 'User', href: links.user(id) })),
    ...apps.items.map((app) => ({ label: appName(app), kind: 'App', href: links.app(app.id) })),
    ...servers
      .slice(0, MAX_HITS)
      .map(({ name, path }) => ({ label: name, kind: 'Server', href: links.server(path) })),
    ...destinations,
  ];
}

/** The reference of an error page, as a user reads it aloud. */
function referenceHits(text: string): readonly Hit[] {
  if (!/^[0-9a-z]{4}[- ]?[0-9a-z]{4}$/i.test(text) || !/\d/.test(text)) return [];
  const reference = readReference(text);
  return [{ label: `Events of ${reference}`, kind: 'Reference', href: links.events({ reference }) }];
}
