/** The overview: what needs attention, in sentences with the link that solves it, and what happened in the last day. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { type Attention, findAttention } from '../../operations/attention.ts';
import { type Counts, sumCounts } from '../../operations/statistics/counts.ts';
import { HOUR, hourOf } from '../../operations/statistics/event-time.ts';
import { links } from '../links.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { icons } from '../ui/icons.ts';
import { figure, formatCount, section } from '../ui/parts.ts';

export const overviewRoutes: readonly ConsoleRoute[] = [
  definePage(links.overview, async (request) => {
    const [attention, figures] = await Promise.all([findAttention(request.admin), readFigures(request)]);
    return {
      section: 'overview',
      title: 'Overview',
      body: html`${section('Needs attention', attentionList(attention))}
${section('Last 24 hours', figures)}`,
    };
  }),
];

function attentionList(all: readonly Attention[]): Markup {
  if (all.length === 0)
    return html`<ul class="attention"><li class="fine">${icons.done}<p>Everything is fine: no decision waits, and every server is up.</p></li></ul>`;
  return html`<ul class="attention">
${all.map((one) => html`<li${one.isUrgent && html` class="bad"`}>${icons.warning}<p>${one.sentence}</p><a class="button" href="${linkOf(one)}">${LABELS[one.about]}</a></li>`)}
</ul>`;
}

const LABELS: Readonly<Record<Attention['about'], string>> = {
  approvals: 'Decide',
  tools: 'Review',
  server: 'Open the server',
  keys: 'Open keys',
  delivery: 'Open settings',
};

function linkOf({ about, target }: Attention): string {
  switch (about) {
    case 'approvals':
      return links.approvals;
    case 'keys':
    case 'delivery':
      return links.settings;
    default:
      return links.server(target);
  }
}

/** Labels and the events that they count. */
const FIGURES = [
  ['Sign-ins', 'login.succeeded'],
  ['Consents', 'consent.allowed'],
  ['Tokens issued', 'token.issued'],
  ['Calls', 'call.finished'],
] as const;

async function readFigures({ admin }: ConsoleRequest): Promise<Markup> {
  const end = hourOf(Date.now()) + HOUR;
  const { buckets } = await admin.statistics.count(end - 48 * HOUR, end, 'hour');
  const all = buckets.map(({ counts }) => counts);
  const [before, now] = [sumCounts(all.slice(0, 24)), sumCounts(all.slice(24))];
  const refused = ({ servers }: Counts) =>
    Object.values(servers).reduce((sum, server) => sum + server.refused, 0);
  const rows = [
    ...FIGURES.map(
      ([label, type]) => [label, now.events[type] ?? 0, before.events[type] ?? 0, type] as const,
    ),
    ['Refused calls', refused(now), refused(before), 'call.finished'] as const,
  ];
  return html`<div class="figures">${rows.map(([label, count, earlier, type]) => figure(label, formatCount(count), comparison(count, earlier), links.events({ type })))}</div>`;
}

/** `8 % more than the day before` */
function comparison(count: number, earlier: number): string {
  if (earlier === 0) return count === 0 ? 'none the day before either' : 'none the day before';
  const percent = Math.round(((count - earlier) / earlier) * 100);
  if (percent === 0) return 'as many as the day before';
  return `${formatCount(Math.abs(percent))} % ${percent > 0 ? 'more' : 'less'} than the day before`;
}
