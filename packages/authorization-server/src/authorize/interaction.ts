/** The part of the server that people meet: authorization requests, sign-in, consent, the first account. */
import type { FindClient } from '../clients/find-client.ts';
import type { Configuration } from '../configuration.ts';
import type { Route } from '../routes.ts';

export interface Interaction {
  readonly routes: readonly Route[];
  setupLink(): Promise<string | null>;
  bootstrap(email: string, password: string): Promise<'created' | 'exists'>;
}

/** @TODO No page is served yet. */
export function createInteraction(
  _configuration: Configuration,
  _hands: { readonly findClient: FindClient },
): Interaction {
  return {
    routes: [],
    setupLink: async () => null,
    bootstrap: () => Promise.reject(new Error('Accounts cannot be made yet.')),
  };
}
