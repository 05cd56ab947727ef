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

/** Who called it in the last day, the latest first. */
export async function serverUse(admin: Administration, server: GatewayServer): Promise<Markup> {
  const criteria = { type: 'call.finished', server: server.path, since: Date.now() - DAY };
  const { events } = await listEvents(admin.store, criteria, '', MAX_CALLS, PATIENCE);
  const calls = events.filter(({ clientId }) => clientId !== null);
  if (calls.length === 0)
    return section(
      'Who uses it',
      empty('No call in the last day', 'Users and apps appear here with their calls.'),
    );
  const clients = calls.flatMap(({ clientId }) => clientId ?? []);
  const accounts = calls.flatMap(({ accountId }) => accountId ?? []);
  const [names, emails] = await Promise.all([findAppNames(admin, clients), findEmails(admin, accounts)]);
  const callers = Map.groupBy(calls, ({ accountId, clientId }) => JSON.stringify([accountId, clientId]));
  const shown = [...callers].map(([key, own]) => {
    const [accountId, clientId] = JSON.parse(key) as readonly [string | null, string];
    return {
      own,
      user:
        accountId === null
          ? null
          : { id: accountId, label: emails.get(accountId) ?? accountId, href: links.user(accountId) },
      app: { id: clientId, label: names.get(clientId) ?? clientId, href: links.app(clientId) },
    };
  });
  const node = { id: server.path, label: server.name, href: null };
  const relations: readonly Relation[] = shown.map(({ user, app }) => ({ user, app, server: node }));
  const rows = shown
    .slice(0, 20)
    .map(({ user, app, own }) => [
      user === null ? 'the app itself' : html`<a href="${user.href}"><bdi>${user.label}</bdi></a>`,
      html`<a href="${app.href}"><bdi>${app.label}</bdi></a>`,
      formatCount(own.length),
      formatCount(own.filter(({ details }) => details['decision'] !== 'allowed').length),
      time(Math.floor(Math.max(...own.map(({ at }) => at)) / 1000), admin.clock()),
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
