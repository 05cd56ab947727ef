/** Draws who has access to what through which app: users, apps, servers, each a link to its page. */
import { escapedText, html, type Markup } from '@portcullis/authorization-server/pages';

/** A box of the drawing. */
interface RelationNode {
  readonly id: string;
  readonly label: string;
  /** `null`: it has no page. */
  readonly href: string | null;
}

/** One access: a user, the app that acts for it, and a server. */
export interface Relation {
  /** `null`: the app acts for itself. */
  readonly user: RelationNode | null;
  readonly app: RelationNode;
  readonly server: RelationNode;
}

const [WIDTH, HEIGHT, GAP] = [168, 34, 10];
const COLUMNS = [0, 216, 432] as const;
/** Characters that fit into a box. */
const MAX_LABEL = 18;
/** Boxes of a column; more would not be read. */
const MAX_ROWS = 12;

/** Its left edge and its middle. */
type Placed = RelationNode & { readonly x: number; readonly y: number };

/** The drawing; a table beside it has the same in text. @param about what it shows, for screen readers */
export function relationsDrawing(about: string, all: readonly Relation[]): Markup {
  const columns = [
    all.flatMap(({ user }) => user ?? []),
    all.map(({ app }) => app),
    all.map(({ server }) => server),
  ].map((nodes) => [...new Map(nodes.map((node) => [node.id, node])).values()]);
  const rows = Math.max(1, ...columns.map(({ length }) => Math.min(length, MAX_ROWS)));
  const height = rows * (HEIGHT + GAP) - GAP;
  const [users = [], apps = [], servers = []] = columns.map((nodes, index) =>
    positionsOf(nodes.slice(0, MAX_ROWS), COLUMNS[index] ?? 0, height),
  );
  const hidden = columns.reduce((sum, { length }) => sum + Math.max(0, length - MAX_ROWS), 0);
  const edges = new Set(
    all.flatMap(({ user, app, server }) => [
      ...curve(users, user?.id, apps, app.id),
      ...curve(apps, app.id, servers, server.id),
    ]),
  );
  return html`<div class="drawing" role="group" aria-label="${about}" tabindex="0"><svg viewBox="0 0 600 ${height}" aria-hidden="true" focusable="false">
<path class="edge" d="${[...edges].join('')}"/>
${[...users, ...apps, ...servers].map(box)}
</svg></div>
${hidden > 0 && html`<p class="fact">${hidden} more are not drawn.</p>`}`;
}

/** Below each other, in the middle of the height. */
function positionsOf(nodes: readonly RelationNode[], x: number, height: number): readonly Placed[] {
  const top = (height - (nodes.length * (HEIGHT + GAP) - GAP)) / 2;
  return nodes.map((node, index) => ({ ...node, x, y: top + index * (HEIGHT + GAP) + HEIGHT / 2 }));
}

/** Nothing where one of them is not drawn. */
function curve(
  from: readonly Placed[],
  one: string | undefined,
  to: readonly Placed[],
  other: string,
): readonly string[] {
  const [source, target] = [from.find(({ id }) => id === one), to.find(({ id }) => id === other)];
  if (source === undefined || target === undefined) return [];
  const [begin, end] = [source.x + WIDTH, target.x];
  const middle = (begin + end) / 2;
  return [`M${begin} ${source.y}C${middle} ${source.y} ${middle} ${target.y} ${end} ${target.y}`];
}

/** The links of a drawing are not in the tab order: the table beside it has them. */
function box({ label, href, x, y }: Placed): Markup {
  const content = html`<rect class="node" x="${x + 0.5}" y="${y - HEIGHT / 2 + 0.5}" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="7"/><text x="${x + 12}" y="${y + 4.5}">${escapedText(shortened(label))}</text>`;
  return href === null ? content : html`<a href="${href}" tabindex="-1">${content}</a>`;
}

/** Cut before the end of an identifier, which tells apps of the same name apart. */
function shortened(label: string): string {
  const characters = [...label];
  if (characters.length <= MAX_LABEL) return label;
  const [, end = ''] = / (…\S{6})$/.exec(label) ?? [];
  return `${characters.slice(0, MAX_LABEL - 1 - end.length).join('')}${end === '' ? '…' : `… ${end}`}`;
}
