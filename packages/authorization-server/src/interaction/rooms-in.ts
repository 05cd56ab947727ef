/** The rooms of the interaction: what all of them share is made once, and what speaks to people in each language. */

import { createFormTokens } from '../authorize/form-tokens.ts';
import { createPageEdge } from '../authorize/page-edge.ts';
import type { Rooms } from '../authorize/rooms.ts';
import type { Configuration } from '../configuration.ts';
import { defineCookie } from '../cookies.ts';
import { createHandOver } from '../headless/hand-over.ts';
import type { Tickets } from '../headless/tickets.ts';
import { createChargeAuthorizationRequest } from '../rate-limit/openings.ts';
import type { Assets } from '../ui/assets.ts';
import { createLayout } from '../ui/layout.ts';
import type { Language } from '../ui/texts/languages.ts';
import { createSessions } from '../users/sessions.ts';

/** What the interaction gets from the rest of the server. */
export type InteractionHands = Pick<Rooms, 'findClient' | 'upstream'>;

/** The rooms that speak a language. */
export type RoomsIn = (language: Language) => Rooms;

/** Makes the function; the rooms of all languages keep the same sessions, and know the same forms. */
export function createRoomsIn(
  configuration: Configuration,
  hands: InteractionHands,
  tickets: Tickets,
  { stylesheet, script, logo }: Assets,
): RoomsIn {
  const { brand, issuer, name: serverName } = configuration;
  const mounting = {
    serverName,
    stylesheet,
    script,
    logo,
    links: brand.links,
  };
  const shared = {
    ...hands,
    configuration,
    sessions: createSessions(configuration),
    formTokens: createFormTokens(configuration),
    browser: defineCookie(issuer, 'browser'),
    chargeAuthorizationRequest: createChargeAuthorizationRequest(configuration),
    handOver: createHandOver(configuration, tickets),
  };
  return (language) => {
    const layout = createLayout(mounting, language, brand.texts);
    return { ...shared, layout, edge: createPageEdge(configuration, layout) };
  };
}
