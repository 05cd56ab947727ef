/** Addresses of the console's pages, and the sections that they belong to. */

/** A link with its text. */
export interface ConsoleLink {
  readonly label: string;
  readonly href: string;
}

/** Everything of the console is below this path of the public URL. */
export const CONSOLE_PATH = '/admin';

/** Adds a query; empty and `undefined` values are left out. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '',
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** The address of an action of an app. */
export function appAction(id: string, name: string, more: Readonly<Record<string, string>> = {}): string {
  return withQuery(`${CONSOLE_PATH}/app/${name}`, { id, ...more });
}

/** Identifiers of clients and paths of servers have slashes, so they stand in the query. */
export const links = {
  overview: CONSOLE_PATH,
  activity: `${CONSOLE_PATH}/activity`,
  users: `${CONSOLE_PATH}/users`,
  groups: `${CONSOLE_PATH}/groups`,
  access: `${CONSOLE_PATH}/access`,
  apps: `${CONSOLE_PATH}/apps`,
  servers: `${CONSOLE_PATH}/servers`,
  approvals: `${CONSOLE_PATH}/approvals`,
  policy: `${CONSOLE_PATH}/policy`,
  settings: `${CONSOLE_PATH}/settings`,
  setup: `${CONSOLE_PATH}/setup`,
  setupProvider: `${CONSOLE_PATH}/setup/provider`,
  find: `${CONSOLE_PATH}/find`,
  user: (id: string): string => `${CONSOLE_PATH}/users/${encodeURIComponent(id)}`,
  accessOfGroup: (group: string): string => withQuery(`${CONSOLE_PATH}/access`, { group }),
  accessOfUser: (user: string): string => withQuery(`${CONSOLE_PATH}/access`, { user }),
  app: (id: string): string => withQuery(`${CONSOLE_PATH}/app`, { id }),
  server: (path: string): string => withQuery(`${CONSOLE_PATH}/server`, { path }),
  grant: (id: string): string => `${CONSOLE_PATH}/connections/${encodeURIComponent(id)}`,
  provider: (id: string): string => `${CONSOLE_PATH}/settings/providers/${encodeURIComponent(id)}`,
  event: (id: string): string => `${CONSOLE_PATH}/activity/events/${encodeURIComponent(id)}`,
  eventStream: `${CONSOLE_PATH}/activity/stream`,
  /** Of a transaction or grant in the query. */
  sequence: `${CONSOLE_PATH}/activity/sequence`,
  sequenceFile: `${CONSOLE_PATH}/activity/sequence.svg`,
  /** Events that match these criteria. */
  events: (criteria: Readonly<Record<string, string | undefined>>): string =>
    withQuery(`${CONSOLE_PATH}/activity`, criteria),
} as const;

/** The entries of the sidebar, each with the key that opens it after `g`. */
export const SECTIONS = [
  { name: 'overview', label: 'Overview', key: 'o' },
  { name: 'activity', label: 'Activity', key: 'a' },
  { name: 'users', label: 'Users', key: 'u' },
  { name: 'apps', label: 'Apps', key: 'p' },
  { name: 'servers', label: 'Servers', key: 's' },
  { name: 'approvals', label: 'Approvals', key: 'q' },
  { name: 'policy', label: 'Policy', key: 'r' },
  { name: 'settings', label: 'Settings', key: 'e' },
] as const;

export type Section = (typeof SECTIONS)[number]['name'];

/** The sections of pages whose path does not name it. */
const SECTION_OF: Readonly<Record<string, Section>> = {
  groups: 'users',
  access: 'users',
  connections: 'users',
  app: 'apps',
  server: 'servers',
  setup: 'servers',
};

/** The section of a page, which its list stands for. @param path below the origin */
export function sectionOf(path: string): ConsoleLink & { readonly name: Section } {
  const [first = ''] = path.slice(CONSOLE_PATH.length + 1).split(/[/?]/, 1);
  const name = path.startsWith(links.setupProvider) ? 'settings' : (SECTION_OF[first] ?? first);
  const section = SECTIONS.find((one) => one.name === name) ?? SECTIONS[0];
  return { ...section, href: links[section.name] };
}
