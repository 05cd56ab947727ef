/** Events as lines in plain words, each with a link to the event itself. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import type { Administration } from '../../operations/administration.ts';
import { links } from '../links.ts';
import { findAppNames, findEmails } from '../names.ts';
import { formatDay } from '../ui/parts.ts';
import { describeEvent, type EventNames, type Piece } from './describe-event.ts';

/** The names that events need, each read once. */
export async function findEventNames(
  admin: Administration,
  events: readonly AuditEventRecord[],
): Promise<EventNames> {
  const deciders = events.map(({ details }) => details['decidedBy']);
  const accounts = [...events.map(({ accountId }) => accountId), ...deciders];
  const ids = accounts.filter((id): id is string => typeof id === 'string' && id !== 'operator');
  const clients = events.map(({ clientId }) => clientId).filter((id) => id !== null);
  const [users, apps] = await Promise.all([findEmails(admin, ids), findAppNames(admin, clients)]);
  return { users, apps };
}

/** A line of the live list, for the script of the page. */
export function lineJson(event: AuditEventRecord, names: EventNames) {
  const { pieces, tone } = describeEvent(event, names);
  return { id: event.id, at: new Date(event.at).toISOString(), href: links.event(event.id), tone, pieces };
}

/** The list. @param shown what a screen reader calls it */
export function eventList(shown: string, events: readonly AuditEventRecord[], names: EventNames): Markup {
  return html`<ol class="events" aria-label="${shown}" data-events>${events.map((event) => eventLine(event, names))}</ol>`;
}

function eventLine(event: AuditEventRecord, names: EventNames): Markup {
  const { pieces, tone } = describeEvent(event, names);
  const at = new Date(event.at).toISOString();
  return html`<li class="${tone}"><a href="${links.event(event.id)}" title="${event.type}"><time datetime="${at}">${clockOf(at)}</time><span>${pieceMarkup(pieces, tone)}</span></a></li>
`;
}

/** The sentence; a refusal is not told by its colour alone. */
export function pieceMarkup(pieces: readonly Piece[], tone: string): Markup {
  return html`${tone === 'refused' && html`<span class="unseen">Refused: </span>`}${pieces.map((piece) =>
    typeof piece === 'string'
      ? piece
      : 'code' in piece
        ? html`<code>${piece.code}</code>`
        : html`<bdi>${piece.name}</bdi>`,
  )}`;
}

/** `28 Nov 18:04:07` */
function clockOf(iso: string): string {
  return `${formatDay(Date.parse(iso))} ${iso.slice(11, 19)}`;
}
