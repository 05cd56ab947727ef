/** Options of one protected route, for all frameworks. */
import {
  ConfigurationError,
  type OptionNames,
  type Scopes,
  unknownOptionIssues,
} from '@portcullis/protocol/protected-resource';

/** What a route requires in addition to its resource. */
export interface RouteOptions {
  readonly scopes?: Scopes;
}

const ROUTE: OptionNames<RouteOptions> = { scopes: true };

/** Rejects unknown option names, which would silently require nothing. @throws ConfigurationError */
export function checkRouteOptions(options: RouteOptions): void {
  const issues = unknownOptionIssues(options, ROUTE);
  if (issues.length > 0) throw new ConfigurationError(issues);
}
