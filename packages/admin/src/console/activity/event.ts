/** One event: what it says, what belongs to it, and the event itself. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { eventJson } from '../../api/endpoints/events.ts';
import type { Administration } from '../../operations/administration.ts';
import { END } from '../../operations/search-events.ts';
import { links, sectionOf, withQuery } from '../links.ts';
import { type ConsoleRoute, definePage } from '../page.ts';
import { PageError } from '../page-error.ts';
import { copyText, facts, section } from '../ui/parts.ts';
import { describeEvent } from './describe-event.ts';
import { findEventNames, pieceMarkup } from './lines.ts';

export const eventRoutes: readonly ConsoleRoute[] = [
  definePage(`${links.activity}/events/{eventId}`, async ({ admin, params }) => {
    const event = await findEvent(admin, params['eventId'] ?? '');
    const names = await findEventNames(admin, [event]);
    const { pieces, tone } = describeEvent(event, names);
    const { accountId, clientId, grantId, transactionId, type, details } = event;
    return {
      title: type,
      lead: html`${pieceMarkup(pieces, tone)}`,
      ...(sequenceOf(event) !== null && {
        action: { label: 'Show as a sequence', href: sequenceOf(event) ?? '' },
      }),
      body: html`<div class="columns"><div>${section('The event', copyText(JSON.stringify(eventJson(event), null, 2)))}
${section('On the command line', copyText(commandFor(event)))}</div>
<div>${section(
        'About',
        facts([
          [
            'When',
            html`<time datetime="${new Date(event.at).toISOString()}">${new Date(event.at).toISOString()}</time>`,
          ],
          [
            'User',
            accountId &&
              more(names.users.get(accountId) ?? accountId, links.user(accountId), { user: accountId }),
          ],
          [
            'App',
            clientId && more(names.apps.get(clientId) ?? clientId, links.app(clientId), { client: clientId }),
          ],
          ['Connection', grantId && more(grantId, links.grant(grantId), { grant: grantId })],
          ['Authorization', transactionId],
          [
            'Server',
            typeof details['server'] !== 'string'
              ? null
              : more(details['server'], links.server(details['server']), { server: details['server'] }),
          ],
          ['Event', html`<a href="${links.events({ type })}">${type}</a>`],
        ]),
      )}</div></div>`,
    };
  }),
];

/** The page of what an event is about, and its other events. */
function more(label: string, href: string, criteria: Readonly<Record<string, string>>): Markup {
  return html`<a href="${href}"><bdi>${label}</bdi></a> · <a href="${links.events(criteria)}">events</a>`;
}

/** @throws PageError 404 */
async function findEvent({ store }: Administration, id: string): Promise<AuditEventRecord> {
  // The latest before what sorts after the identifier.
  const [found] = /^[0-9A-Za-z_-]{2,100}$/.test(id) ? await store.listLatestEvents(1, `${id}${END}`) : [];
  if (found?.id !== id)
    throw new PageError(
      404,
      'There is no such event',
      'It may have expired: events are kept for as long as auditRetention says.',
      sectionOf(links.activity),
    );
  return found;
}

/** The sequence that an event belongs to; `null`: to none. */
function sequenceOf({ transactionId, grantId }: AuditEventRecord): string | null {
  if (transactionId !== null) return withQuery(links.sequence, { transaction: transactionId });
  return grantId === null ? null : withQuery(links.sequence, { grant: grantId });
}

function commandFor({ transactionId, grantId, type }: AuditEventRecord): string {
  if (transactionId !== null) return `portcullis events --flow ${transactionId}`;
  return grantId === null ? `portcullis events --type ${type}` : `portcullis events --grant ${grantId}`;
}
