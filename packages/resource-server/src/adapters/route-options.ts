/** What one route of a framework says to the guard. */
import {
  ConfigurationError,
  type OptionNames,
  type Scopes,
  unknownOptionIssues,
} from '@portcullis/protocol/protected-resource';

/** What a route may ask for beyond what its resource needs. */
export interface RouteOptions {
  readonly scopes?: Scopes;
}

const ROUTE: OptionNames<RouteOptions> = { scopes: true };

/** @throws ConfigurationError for a name that is none: what a route asks for under it would never be asked for */
export function checkRouteOptions(options: RouteOptions): void {
  const issues = unknownOptionIssues(options, ROUTE);
  if (issues.length > 0) throw new ConfigurationError(issues);
}
