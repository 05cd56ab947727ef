/** The plots of a page about one thing: its calls and its other events, day by day. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { Administration } from '../../operations/administration.ts';
import { countRecentActivity } from '../../operations/recent-activity.ts';
import { links } from '../links.ts';
import { type Plot, plotMarkup } from '../overview/plot.ts';
import { pointLabel, timeText } from '../overview/views.ts';
import { section } from '../ui/parts.ts';

/** The section of the last 30 days. @param criteria also of the events that a click shows */
export async function recentPlots(
  admin: Administration,
  criteria: Readonly<Partial<Record<'user' | 'client' | 'grant', string>>>,
): Promise<Markup> {
  const { days, since } = await countRecentActivity(admin, criteria);
  const pointsOf = (more: Readonly<Record<string, string>>) =>
    days.map(({ from, before }) => ({
      label: pointLabel('month', from),
      href: links.events({ ...more, ...criteria, since: timeText(from), until: timeText(before) }),
    }));
  const plots: readonly Plot[] = [
    {
      ...{ title: 'Calls', unit: '', marks: [], points: pointsOf({ type: 'call.finished' }) },
      series: [
        { label: 'Allowed', look: 'solid', values: days.map(({ counts }) => counts?.calls ?? null) },
        {
          ...{ label: 'Refused', look: 'outline', isBad: true },
          values: days.map(({ counts }) => counts?.refused ?? null),
        },
      ],
    },
    {
      ...{ title: 'Sign-ins, consents and changes', unit: '', marks: [], points: pointsOf({}) },
      series: [{ label: 'Events', look: 'solid', values: days.map(({ counts }) => counts?.others ?? null) }],
    },
  ];
  return section(
    'The last 30 days',
    html`<div class="plots">${plots.map(plotMarkup)}</div>
${since !== null && html`<p class="fact">There is much: counted since ${new Date(since).toISOString().slice(0, 16).replace('T', ' ')} UTC. Activity has the rest.</p>`}`,
  );
}
