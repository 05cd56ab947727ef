/** The overview: what needs attention, in sentences with the link that solves it, and what happened, as plots over time. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { type Attention, findAttention } from '../../operations/attention.ts';
import { type Counts, sumCounts } from '../../operations/statistics/counts.ts';
import { addHistograms, type Histogram } from '../../operations/statistics/histogram.ts';
import { links, sectionOf, withQuery } from '../links.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { PageError } from '../page-error.ts';
import { icons } from '../ui/icons.ts';
import { columnOf, figure, formatCount, section, table } from '../ui/parts.ts';
import { findMarks } from './marks.ts';
import { type Plot, type PlotMark, plotMarkup } from './plot.ts';
import {
  compareCounts,
  earlierText,
  latencySeries,
  type Overview,
  outcomeSeries,
  type Point,
  plotPoints,
  readOverview,
  timeText,
  VIEWS,
  type ViewName,
} from './views.ts';

export const overviewRoutes: readonly ConsoleRoute[] = [
  definePage(links.overview, async (request) => {
    const { admin, query, role } = request;
    const view = readView(query.get('view') ?? 'day');
    const now = Date.now();
    const [attention, overview] = await Promise.all([
      findAttention(admin),
      readOverview(admin.statistics, view, now),
    ]);
    const marks = await findMarks(admin, overview.points);
    return {
      title: 'Overview',
      scripts: ['overview'],
      body: html`${section('Needs attention', attentionList(attention, role))}
${section(VIEWS[view].title, figures(overview, view, now), viewLinks(view))}
${overview.isComplete ? '' : html`<p class="fact">Older hours are still being counted: figures grow until that is done.</p>`}
<div class="plots">${plotsOf(overview, view, marks).map(plotMarkup)}</div>
${marks.length > 0 && html`<p class="fact">Marked: ${marks.map(({ letter, label, href }, index) => html`${index > 0 && ', '}<b>${letter}</b> <a href="${href}">${label}</a>`)}</p>`}
${section('Refusals by reason', refusals(overview, view, now))}`,
    };
  }),
];

/** @throws PageError 400 */
function readView(text: string): ViewName {
  if (Object.hasOwn(VIEWS, text)) return text as ViewName;
  throw new PageError(
    400,
    'There is no such view',
    'There are hour, day, week and month.',
    sectionOf(links.overview),
  );
}

function viewLinks(current: ViewName): Markup {
  return html`<nav class="filters" aria-label="Time">${Object.entries(VIEWS).map(([name, { label }]) => html`<a class="chip" href="${withQuery(links.overview, { view: name })}"${name === current && html` aria-current="true"`}>${label}</a>`)}</nav>`;
}

function attentionList(all: readonly Attention[], role: ConsoleRequest['role']): Markup {
  if (all.length === 0)
    return html`<ul class="attention"><li class="fine">${icons.done}<p>Everything is fine: no decision waits, and every server is up.</p></li></ul>`;
  return html`<ul class="attention">
${all.map(({ about, target, sentence, isUrgent }) => {
  const [solution, href] = SOLUTIONS[about];
  const label = role === 'operator' || !DECIDED.has(about) ? solution : 'Show';
  return html`<li${isUrgent && html` class="bad"`}>${icons.warning}<p>${sentence}</p><a class="button" href="${href(target)}">${label}</a></li>`;
})}
</ul>`;
}

/** What only operators solve. */
const DECIDED: ReadonlySet<Attention['about']> = new Set(['approvals', 'tools', 'apps']);

/** What solves it. */
const SOLUTIONS: Readonly<
  Record<Attention['about'], readonly [label: string, href: (target: string) => string]>
> = {
  approvals: ['Decide', () => links.approvals],
  tools: ['Review', links.server],
  server: ['Open the server', links.server],
  keys: ['Open keys', () => links.settings],
  provider: ['Open the provider', links.provider],
  clock: ['See its events', (target) => links.events({ type: target || 'audit.*' })],
  delivery: ['Open settings', () => links.settings],
  apps: [
    'Verify',
    (target) => (target === '' ? withQuery(links.apps, { show: 'unverified' }) : links.app(target)),
  ],
};

/** A figure and the events that it counts. */
const FIGURES: readonly (readonly [label: string, type: string, count: (counts: Counts) => number])[] = [
  ['Sign-ins', 'login.succeeded', ({ events }) => events['login.succeeded'] ?? 0],
  ['Consents', 'consent.allowed', ({ events }) => events['consent.allowed'] ?? 0],
  ['First tokens', 'token.issued', ({ events }) => events['token.issued'] ?? 0],
  ['Calls', 'call.finished', ({ events }) => events['call.finished'] ?? 0],
  ['Refusals', 'request.rejected', ({ refusals: all }) => totalOf(all)],
];

function totalOf(counted: Readonly<Record<string, number>>): number {
  return Object.values(counted).reduce((sum, count) => sum + count, 0);
}

function figures({ points, earlier }: Overview, view: ViewName, now: number): Markup {
  const counts = sumCounts(points.map((point) => point.counts));
  const [first] = points;
  const since = first === undefined ? undefined : timeText(first.from);
  const than = earlierText(view, now);
  return html`<div class="figures">${FIGURES.map(([label, type, count]) =>
    figure(
      label,
      formatCount(count(counts)),
      compareCounts(count(counts), earlier && count(earlier), than),
      label === 'Refusals' ? '#refusals' : links.events({ type, since }),
    ),
  )}</div>`;
}

function plotsOf({ points }: Overview, view: ViewName, marks: readonly PlotMark[]): readonly Plot[] {
  const plot = (title: string, type: string, series: Plot['series'], unit = ''): Plot => ({
    ...{ title, unit, series, marks },
    points: plotPoints(view, points, { type }),
  });
  const each = <T>(value: (point: Point) => T) => points.map(value);
  const events = (type: string) => each(({ counts }) => counts.events[type] ?? 0);
  const refused = each(({ counts }) =>
    Object.values(counts.servers).reduce((sum, server) => sum + server.refused, 0),
  );
  const allowed = events('call.finished').map((count, index) => count - (refused[index] ?? 0));
  const backends = latencySeries(each(({ counts }) => backendsOf(counts)));
  const gateway = latencySeries(each(({ counts }) => counts.gateway));
  const logins = [events('login.succeeded'), events('login.failed')] as const;
  const consents = [events('consent.allowed'), events('consent.denied')] as const;
  return [
    plot('Sign-ins', 'login.*', outcomeSeries(['Succeeded', 'Failed'], ...logins)),
    plot('Consents', 'consent.*', outcomeSeries(['Allowed', 'Denied'], ...consents)),
    plot('Tokens', 'token.*', [
      { label: 'First of a connection', look: 'solid', values: events('token.issued') },
      { label: 'Exchanged', look: 'outline', values: events('token.exchanged') },
    ]),
    plot('Calls', 'call.finished', outcomeSeries(['Allowed', 'Refused'], allowed, refused)),
    plot('Latency of backends', 'call.finished', backends, 'ms'),
    plot('Latency of the gateway', 'call.finished', gateway, 'ms'),
    ...(view === 'hour'
      ? []
      : [
          plot('Connections', 'consent.*', [
            { label: 'Live', look: 'line', values: each(({ live }) => live?.grants ?? null) },
          ]),
          plot('Apps and sessions', 'login.*', [
            { label: 'Apps in use', look: 'line', values: each(({ live }) => live?.clients ?? null) },
            { label: 'Browser sessions', look: 'dashed', values: each(({ live }) => live?.sessions ?? null) },
          ]),
        ]),
  ];
}

function backendsOf({ servers }: Counts): Histogram {
  return Object.values(servers).reduce<Histogram>((sum, { backend }) => addHistograms(sum, backend), {});
}

/** What a reason means, where its name does not say it. */
const REASONS: Readonly<Record<string, string>> = {
  'call.finished:denied': 'Calls denied by a rule',
  'call.finished:insufficient_scope': 'Calls that need more permissions',
  'call.finished:unapproved': 'Calls of tools that wait for review',
  'call.finished:step_up': 'Calls that need a stronger sign-in',
  'call.finished:approval_required': 'Calls that need an approval',
  'call.finished:approval_denied': 'Calls that an approver denied',
  'call.finished:limited': 'Calls over a limit',
  'call.finished:invalid': 'Calls that are not valid',
  'login.failed': 'Sign-ins that failed',
  'federated_login.failed': 'Sign-ins that failed at an identity provider',
  'approval.denied': 'Approvals denied',
  'client_metadata_document.rejected': 'Apps whose metadata cannot be used',
};

function refusals({ points, earlier }: Overview, view: ViewName, now: number): Markup {
  const all = Object.entries(sumCounts(points.map(({ counts }) => counts)).refusals);
  const since = points[0] === undefined ? undefined : timeText(points[0].from);
  if (all.length === 0) return html`<p class="fact" id="refusals">Nothing was refused.</p>`;
  const than = earlierText(view, now);
  const rows = all
    .toSorted(([, one], [, other]) => other - one)
    .map(([reason, count]) => {
      const [type = '', qualifier] = reason.split(':', 2);
      const about =
        qualifier === undefined
          ? {}
          : type === 'call.finished'
            ? { decision: qualifier }
            : { error: qualifier };
      const label =
        REASONS[reason] ?? (qualifier === undefined ? type : `Requests refused with ${qualifier}`);
      return [
        html`<a href="${links.events({ type, ...about, since })}">${label}</a>`,
        formatCount(count),
        compareCounts(count, earlier && (earlier.refusals[reason] ?? 0), than),
      ];
    });
  return html`<div id="refusals">${table('Refusals by reason', ['Reason', columnOf.number('Count'), 'Compared'], rows)}</div>`;
}
