/** One authorization from its first request to its last call, as a sequence diagram. */
import { html } from '@portcullis/authorization-server/pages';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { listEvents } from '../../operations/events.ts';
import { links, sectionOf, withQuery } from '../links.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { PageError } from '../page-error.ts';
import { copyText, empty, section } from '../ui/parts.ts';
import { drawSequence } from './diagram/model.ts';
import { sequenceSvg } from './diagram/svg.ts';
import { sequenceText } from './diagram/text.ts';
import { eventList, findEventNames } from './lines.ts';

/** Events of a transaction, and of the grant that it made, at most: more are not readable. */
const MAX_EVENTS = 60;
/** Milliseconds that the events of a grant are searched for. */
const PATIENCE = 120;

export const sequenceRoutes: readonly ConsoleRoute[] = [
  definePage(links.sequence, async (request) => {
    const events = await findEvents(request);
    const diagram = drawSequence(events);
    const names = await findEventNames(request.admin, events);
    const app = names.apps.get(events.find(({ clientId }) => clientId !== null)?.clientId ?? '');
    return {
      title: app === undefined ? 'One authorization' : `An authorization of ${app}`,
      lead: 'From the first request to the last call. Arrows have the names of the RFCs; durations are to scale, waits of more than a second are cut out.',
      body: html`${
        diagram.messages.length === 0
          ? empty('Nothing to draw', 'None of these events is a message of an authorization.')
          : html`<div class="drawing sequence" tabindex="0" role="group" aria-label="Sequence diagram">${sequenceSvg(diagram)}</div>
<p class="buttons"><a class="button" href="${withQuery(links.sequenceFile, Object.fromEntries(request.query))}" download="authorization.svg">Save as SVG</a></p>
${section('The same as text', copyText(sequenceText(diagram)))}`
      }
${section('Events', eventList('Events of this authorization', events, names))}`,
    };
  }),
  definePage(links.sequenceFile, async (request) => {
    const drawing = String(await sequenceSvg(drawSequence(await findEvents(request))));
    return new Response(drawing, {
      headers: {
        'content-type': 'image/svg+xml; charset=utf-8',
        'content-disposition': 'attachment; filename="authorization.svg"',
        // A browser that opens it runs and loads nothing.
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
      },
    });
  }),
];

/** The events of a transaction, and what its grant did later. @throws PageError 404 */
async function findEvents({ admin, query }: ConsoleRequest): Promise<readonly AuditEventRecord[]> {
  const [transaction, grant] = ['transaction', 'grant'].map((name) => (query.get(name) ?? '').trim());
  if (!transaction && !grant)
    throw new PageError(
      404,
      'Which authorization?',
      'Open the sequence from one of its events.',
      sectionOf(links.activity),
    );
  const first = transaction
    ? await admin.store.listTransactionEvents(transaction.slice(0, 200), MAX_EVENTS)
    : [];
  const grantId = grant || first.map((event) => event.grantId).find((id) => id !== null);
  const later = grantId
    ? (await listEvents(admin.store, { grant: grantId }, '', MAX_EVENTS, PATIENCE)).events
    : [];
  const started = transaction ? [] : await startOf(later, admin.store);
  const all = new Map([...first, ...started, ...later].map((event) => [event.id, event]));
  if (all.size === 0)
    throw new PageError(
      404,
      'There is no such authorization',
      'Its events may have expired.',
      sectionOf(links.activity),
    );
  return [...all.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1)).slice(0, MAX_EVENTS);
}

/** What led to a grant. */
async function startOf(
  events: readonly AuditEventRecord[],
  store: ConsoleRequest['admin']['store'],
): Promise<readonly AuditEventRecord[]> {
  const id = events.map(({ transactionId }) => transactionId).find((one) => one !== null);
  return id == null ? [] : store.listTransactionEvents(id, MAX_EVENTS);
}
