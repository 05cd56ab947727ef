/** The plots of a page about one thing: its calls and its other events, day by day. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { Administration } from '../../operations/administration.ts';
import { countRecentActivity } from '../../operations/recent-activity.ts';
import { type Plot, plotMarkup } from '../overview/plot.ts';
import { outcomeSeries, plotPoints } from '../overview/views.ts';
import { formatMinute, section } from '../ui/parts.ts';

/** The section of the last 30 days. @param criteria also of the events that a click shows */
export async function recentPlots(
  admin: Administration,
  criteria: Readonly<Partial<Record<'user' | 'client' | 'grant', string>>>,
): Promise<Markup> {
  const { days, since } = await countRecentActivity(admin, criteria);
  const calls = days.map(({ counts }) => counts?.calls ?? null);
  const refused = days.map(({ counts }) => counts?.refused ?? null);
  const others = days.map(({ counts }) => counts?.others ?? null);
  const plots: readonly Plot[] = [
    {
      title: 'Calls',
      points: plotPoints('month', days, { type: 'call.finished', ...criteria }),
      series: outcomeSeries(['Allowed', 'Refused'], calls, refused),
    },
    {
      title: 'Sign-ins, consents and changes',
      points: plotPoints('month', days, criteria),
      series: [{ label: 'Events', look: 'solid', values: others }],
    },
  ];
  return section(
    'The last 30 days',
    html`<div class="plots">${plots.map(plotMarkup)}</div>
${since !== null && html`<p class="fact">There is much: counted since ${formatMinute(since)} UTC. Activity has the rest.</p>`}`,
  );
}
