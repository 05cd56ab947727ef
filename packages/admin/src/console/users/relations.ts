/** Draws who has access to what through which app: a user, apps, servers. */
import type { ListedConnection } from '@portcullis/authorization-server';
import { html, type Markup } from '@portcullis/authorization-server/pages';

/** A box of the drawing. */
interface Node {
  readonly id: string;
  readonly label: string;
}

const [WIDTH, HEIGHT, GAP] = [168, 34, 10];
const COLUMNS = [0, 216, 432] as const;
/** Characters that fit into a box. */
const MAX_LABEL = 21;

/** Names for identifiers of clients, and for resources. */
export interface RelationNames {
  readonly app: (id: string) => string;
  readonly server: (resource: string) => string;
}

/** The drawing; the table of connections beside it has the same in text. */
export function relationsDrawing(
  user: string,
  connections: readonly Pick<ListedConnection, 'clientId' | 'resources'>[],
  { app, server }: RelationNames,
): Markup {
  const apps = distinct(connections.map(({ clientId }) => clientId)).map((id) => ({ id, label: app(id) }));
  const servers = distinct(connections.flatMap(({ resources }) => resources)).map((id) => ({
    id,
    label: server(id),
  }));
  const rows = Math.max(1, apps.length, servers.length);
  const height = rows * (HEIGHT + GAP) - GAP;
  const centre = (count: number, index: number) =>
    (height - (count * (HEIGHT + GAP) - GAP)) / 2 + index * (HEIGHT + GAP) + HEIGHT / 2;
  const appAt = new Map(apps.map(({ id }, index) => [id, centre(apps.length, index)]));
  const serverAt = new Map(servers.map(({ id }, index) => [id, centre(servers.length, index)]));
  const links = distinct(
    connections.flatMap(({ clientId, resources }) => resources.map((one) => JSON.stringify([clientId, one]))),
  ).map((pair) => JSON.parse(pair) as readonly [string, string]);
  const about = `${user} has access through ${apps.map(({ label }) => label).join(', ')} to ${servers.map(({ label }) => label).join(', ')}`;
  return html`<div class="drawing" role="group" aria-label="Who has access to what" tabindex="0"><svg viewBox="0 0 600 ${height}" role="img" aria-label="${about}">
${[...appAt.values()].map((y) => curve(COLUMNS[0], height / 2, COLUMNS[1], y))}
${links.map(([client, resource]) => curve(COLUMNS[1], appAt.get(client) ?? 0, COLUMNS[2], serverAt.get(resource) ?? 0))}
${box({ id: '', label: user }, COLUMNS[0], height / 2)}
${apps.map((node) => box(node, COLUMNS[1], appAt.get(node.id) ?? 0))}
${servers.map((node) => box(node, COLUMNS[2], serverAt.get(node.id) ?? 0))}
</svg></div>`;
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}

function curve(from: number, y: number, to: number, target: number): Markup {
  const [begin, end] = [from + WIDTH, to];
  const middle = (begin + end) / 2;
  return html`<path class="edge" d="M${begin} ${y}C${middle} ${y} ${middle} ${target} ${end} ${target}"/>`;
}

function box({ label }: Node, x: number, y: number): Markup {
  const characters = [...label];
  const shown = characters.length > MAX_LABEL ? `${characters.slice(0, MAX_LABEL - 1).join('')}…` : label;
  return html`<rect class="node" x="${x + 0.5}" y="${y - HEIGHT / 2 + 0.5}" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="7"/><text x="${x + 12}" y="${y + 4.5}">${shown}</text>`;
}
