/** Activity: what happened, in plain words, by filters that are part of the address; live, if wanted. */
import { isDeepStrictEqual } from 'node:util';
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { respondEvents } from '../../api/event-stream.ts';
import { allEventTypes } from '../../operations/event-types.ts';
import { followEvents, listEvents } from '../../operations/events.ts';
import { findReference, readReference } from '../../operations/refusals.ts';
import { createFilter } from '../../operations/search-events.ts';
import { idPrefixOf, timeOfId } from '../../operations/statistics/event-time.ts';
import { links, sectionOf, withQuery } from '../links.ts';
import { type ConsolePage, type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { PageError } from '../page-error.ts';
import { copyText, empty, formatMinute } from '../ui/parts.ts';
import {
  type ActivityFilter,
  addressOf,
  chipsOf,
  commandOf,
  criteriaOf,
  type FilterName,
  readBefore,
  readFilter,
} from './filter.ts';
import { eventList, findEventNames, lineJson } from './lines.ts';

/** Lines of a page. */
const LIMIT = 50;
/** Milliseconds that a page may search: then it shows what it has, and goes on with a link. */
const PATIENCE = 120;

export const activityRoutes: readonly ConsoleRoute[] = [
  definePage(links.activity, async (request) => {
    const reference = (request.query.get('reference') ?? '').trim();
    return reference === '' ? showEvents(request) : showReference(request, reference);
  }),
  definePage(links.eventStream, async ({ admin, query, signal, isStillPermitted }) => {
    const filter = await createFilter(criteriaOf(readFilter(query)), admin.store);
    return respondEvents(
      async function* (ended) {
        const all = AbortSignal.any([signal, ended]);
        for await (const event of followEvents(admin, filter, all, isStillPermitted))
          yield event === null ? null : lineJson(event, await findEventNames(admin, [event]));
      },
      (line) => line,
    );
  }),
];

async function showEvents(request: ConsoleRequest): Promise<ConsolePage> {
  const { admin, query } = request;
  const filter = readFilter(query);
  const from = readBefore(query);
  const end = filter.until === undefined ? '' : idPrefixOf(Date.parse(filter.until));
  const { events, before } = await listEvents(admin.store, criteriaOf(filter), from || end, LIMIT, PATIENCE);
  const names = await findEventNames(admin, events);
  return {
    title: 'Activity',
    lead: 'What happened, the latest first. Times are UTC.',
    scripts: ['activity'],
    body: html`${filters(filter)}
${events.length === 0 ? nothing(filter, before) : eventList('Events', events, names)}
${more(filter, from === '', before, events.length)}
<details class="panel"><summary>The same on the command line</summary>${copyText(commandOf(filter))}</details>`,
  };
}

/** Shown by their names; each is one click. */
const QUICK: readonly (readonly [label: string, filter: ActivityFilter])[] = [
  ['All', {}],
  ['Sign-ins', { type: 'login.*' }],
  ['Consents', { type: 'consent.*' }],
  ['Tokens', { type: 'token.*' }],
  ['Calls', { type: 'call.finished' }],
  ['Denied calls', { type: 'call.finished', decision: 'denied' }],
  ['Rejected requests', { type: 'request.rejected' }],
  ['Changes', { type: 'admin.changed' }],
];

const FIELDS: readonly (readonly [name: FilterName, label: string])[] = [
  ['type', 'Event'],
  ['user', 'User'],
  ['client', 'App (its client ID)'],
  ['server', 'Server'],
  ['tool', 'Tool'],
];

function filters(filter: ActivityFilter): Markup {
  // A chip above says it already.
  const chips = QUICK.some(([, quick]) => isDeepStrictEqual(filter, quick)) ? [] : chipsOf(filter);
  const stream = addressOf(filter).replace(links.activity, links.eventStream);
  return html`<div class="filters">
${QUICK.map(([label, quick]) => html`<a class="chip" href="${addressOf(quick)}"${isDeepStrictEqual(filter, quick) && html` aria-current="true"`}>${label}</a>`)}
<button type="button" class="button" data-live="${stream}" hidden>Live</button>
</div>
${chips.length > 0 && html`<ul class="filters" aria-label="Filters">${chips.map(({ label, value, without }) => html`<li><a class="chip" href="${without}" aria-label="Remove the filter ${label} ${value}">${label}: <bdi>${value}</bdi> <span aria-hidden="true">×</span></a></li>`)}</ul>`}
<div class="columns even">
<form class="search" role="search" action="${links.activity}"><input name="reference" placeholder="Reference code of an error page" aria-label="Reference code of an error page" maxlength="20" autocomplete="off"><button class="button">Find</button></form>
<details><summary>More filters</summary><form class="fields" action="${links.activity}">
${FIELDS.map(([name, label]) => html`<div class="field"><label for="by-${name}">${label}</label><input id="by-${name}" name="${name}" value="${filter[name] ?? ''}" maxlength="500" autocomplete="off"${name === 'type' && html` list="event-types"`}></div>`)}
<datalist id="event-types">${allEventTypes.map((type) => html`<option value="${type}"></option>`)}</datalist>
<div class="buttons"><button class="button">Filter</button></div></form></details>
</div>`;
}

function nothing(filter: ActivityFilter, before: string | null): Markup {
  if (before !== null)
    return empty('Nothing found yet', `Everything since ${timeOf(before)} was searched.`, {
      label: 'Search further back',
      href: addressOf(filter, before),
    });
  return chipsOf(filter).length === 0
    ? empty('Nothing has happened yet', 'Sign-ins, decisions and calls appear here.')
    : empty('No event matches', 'Remove a filter, or look at all of them.', {
        label: 'All events',
        href: links.activity,
      });
}

function more(filter: ActivityFilter, isFirst: boolean, before: string | null, count: number): Markup {
  if (isFirst && (before === null || count === 0)) return html``;
  return html`<nav class="pages" aria-label="Pages">${!isFirst && html`<a class="button" href="${addressOf(filter)}">Latest</a>`}${before !== null && count > 0 && html`<a class="button" rel="next" href="${addressOf(filter, before)}">${count < LIMIT ? `Search before ${timeOf(before)}` : 'Earlier'}</a>`}</nav>`;
}

/** @param id of an event, or a prefix */
function timeOf(id: string): string {
  return `${formatMinute(timeOfId(id))} UTC`;
}

async function showReference({ admin }: ConsoleRequest, text: string): Promise<ConsolePage> {
  const reference = readReference(text.slice(0, 40));
  const events = await findReference(admin.store, reference);
  if (events.length === 0)
    throw new PageError(
      404,
      'No event has this code',
      `${reference} is on no page that an event of the log is about. Events are kept for as long as auditRetention says.`,
      sectionOf(links.activity),
    );
  const names = await findEventNames(admin, events);
  const transactionId = events.map((event) => event.transactionId).find((id) => id !== null);
  return {
    title: `Reference ${reference}`,
    back: sectionOf(links.activity),
    ...(transactionId !== undefined && {
      action: {
        label: 'Show as a sequence',
        href: withQuery(links.sequence, { transaction: transactionId ?? undefined }),
      },
    }),
    body: html`${eventList('Events of this reference and its authorization', events.toReversed(), names)}
<details class="panel"><summary>The same on the command line</summary>${copyText(`portcullis events --reference ${reference}`)}</details>`,
  };
}
