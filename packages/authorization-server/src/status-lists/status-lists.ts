/** Published statuses put together: names with places, and the lists in which they stand. */
import type { Configuration } from '../configuration.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { Route } from '../routes.ts';
import { newIdentifier } from '../secrets.ts';
import { createPlaces, type Places } from './allocate.ts';
import { createStatusRoutes } from './endpoint.ts';
import { createPublishedStatusLists } from './published-lists.ts';

export interface Statuses {
  readonly routes: readonly Route[];
  /** The identifier of a new grant. */
  nameGrant(): string | Promise<string>;
  /** `null`: tokens say nothing of their status. */
  readonly nameToken: Places['nameToken'] | null;
  /** Notes that an access token was revoked alone. */
  noteRevoked(tokenId: string): void;
}

/** Where nothing is published. */
const unpublished: Statuses = {
  routes: [],
  nameGrant: () => newIdentifier('grant'),
  nameToken: null,
  noteRevoked() {},
};

export function createStatuses(configuration: Configuration, keys: KeyRing): Statuses {
  if (!configuration.statusLists) return unpublished;
  const lists = createPublishedStatusLists(configuration, keys);
  const { nameGrant, nameToken } = createPlaces(configuration, lists);
  return { routes: createStatusRoutes(lists), nameGrant, nameToken, noteRevoked: lists.noteRevoked };
}
