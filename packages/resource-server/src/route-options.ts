/** What one route of a framework says to the guard. */
import type { Scopes } from '@portcullis/protocol';

/** What a route may ask for beyond what its resource needs. */
export interface RouteOptions {
  readonly scopes?: Scopes;
}
