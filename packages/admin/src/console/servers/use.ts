/** How a server is used: plots of its calls and latency, and who called it through which app. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { GatewayServer } from '@portcullis/gateway/options';
import type { Administration } from '../../operations/administration.ts';
import { listEvents } from '../../operations/events.ts';
import { DAY } from '../../operations/statistics/event-time.ts';
import { links } from '../links.ts';
import { findAppNames, findEmails } from '../names.ts';
import { type Plot, plotMarkup } from '../overview/plot.ts';
import { latencySeries, outcomeSeries, plotPoints, readOverview } from '../overview/views.ts';
import { type Relation, relationsDrawing } from '../relations/relations.ts';
import { columnOf, empty, formatCount, section, table, time } from '../ui/parts.ts';

/** Plots of the last day. */
export async function serverPlots(admin: Administration, { path }: GatewayServer): Promise<Markup> {
  const { points } = await readOverview(admin.statistics, 'day', Date.now());
  const own = points.map(({ counts }) => counts.servers[path]);
  const allowed = own.map((counts) => (counts?.calls ?? 0) - (counts?.refused ?? 0));
  const refused = own.map((counts) => counts?.refused ?? 0);
  const latencies = own.map((counts) => counts?.backend ?? {});
  const about = { points: plotPoints('day', points, { server: path }) };
  const plots: readonly Plot[] = [
    { ...about, title: 'Calls', series: outcomeSeries(['Allowed', 'Refused'], allowed, refused) },
    { ...about, title: 'Latency of the backend', series: latencySeries(latencies), unit: 'ms' },
  ];
  return section('The last 24 hours', html`<div class="plots">${plots.map(plotMarkup)}</div>`);
}

/** Calls that are read, and milliseconds: as far as a moment of search reaches. */
const MAX_CALLS = 500;
const PATIENCE = 80;

/** A user, if the client does not act for itself, and a client. */
interface RecentCaller {
  readonly accountId: string | null;
  readonly clientId: string;
  /** Of the calls that were read. */
  readonly calls: number;
  readonly refused: number;
  /** Epoch milliseconds. */
  readonly lastAt: number;
}

/** The callers of the last day, the latest first. */
async function findRecentCallers(admin: Administration, server: string): Promise<readonly RecentCaller[]> {
  const criteria = { type: 'call.finished', server, since: Date.now() - DAY };
  const { events } = await listEvents(admin, criteria, '', MAX_CALLS, PATIENCE);
  const callers = new Map<string, RecentCaller>();
  for (const { accountId, clientId, at, details } of events) {
    if (clientId === null) continue;
    const key = JSON.stringify([accountId, clientId]);
    const before = callers.get(key) ?? { accountId, clientId, calls: 0, refused: 0, lastAt: at };
    const refused = before.refused + (details['decision'] === 'allowed' ? 0 : 1);
    callers.set(key, { ...before, calls: before.calls + 1, refused });
  }
  return [...callers.values()];
}

/** Who called it in the last day. */
export async function serverUse(admin: Administration, server: GatewayServer): Promise<Markup> {
  const callers = await findRecentCallers(admin, server.path);
  if (callers.length === 0)
    return section(
      'Who uses it',
      empty('No call in the last day', 'Users and apps appear here with their calls.'),
    );
  const clients = callers.map(({ clientId }) => clientId);
  const accounts = callers.flatMap(({ accountId }) => accountId ?? []);
  const [names, emails] = await Promise.all([findAppNames(admin, clients), findEmails(admin, accounts)]);
  const shown = callers.map(({ accountId, clientId, ...rest }) => ({
    ...rest,
    user:
      accountId === null
        ? null
        : { id: accountId, label: emails.get(accountId) ?? accountId, href: links.user(accountId) },
    app: { id: clientId, label: names.get(clientId) ?? clientId, href: links.app(clientId) },
  }));
  const node = { id: server.path, label: server.name, href: null };
  const relations: readonly Relation[] = shown.map(({ user, app }) => ({ user, app, server: node }));
  const rows = shown
    .slice(0, 20)
    .map(({ user, app, calls, refused, lastAt }) => [
      user === null ? 'the app itself' : html`<a href="${user.href}"><bdi>${user.label}</bdi></a>`,
      html`<a href="${app.href}"><bdi>${app.label}</bdi></a>`,
      formatCount(calls),
      formatCount(refused),
      time(Math.floor(lastAt / 1000), admin.clock()),
    ]);
  return section(
    'Who uses it',
    html`${relationsDrawing('Who called the server in the last day, through which app', relations)}
${table(
  'Callers of the last day, of its latest 500 calls',
  ['User', 'App', columnOf.number('Calls'), columnOf.number('Refused'), columnOf.time('Last')],
  rows,
)}`,
  );
}
