/** What one route of a framework says to the guard. */
import type { Scopes } from '@portcullis/protocol';
import { type Names, unknownNames } from '@portcullis/protocol/known-names';
import { ConfigurationError } from './configuration-error.ts';

/** What a route may ask for beyond what its resource needs. */
export interface RouteOptions {
  readonly scopes?: Scopes;
}

const ROUTE: Names<RouteOptions> = { scopes: true };

/** @throws ConfigurationError for a name that is none: what a route asks for under it would never be asked for */
export function checkRouteOptions(options: RouteOptions): void {
  const issues = unknownNames(options, ROUTE);
  if (issues.length > 0) throw new ConfigurationError(issues);
}
