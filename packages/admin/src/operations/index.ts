/** Entry point `operations`: what the API, the admin MCP server and the command line have in common. */
export { allAccounts, enabledAccounts, findGroups, type Group, NO_LOCAL_ACCOUNTS } from './accounts.ts';
export type { AdminSources } from './administration.ts';
export { compareLines } from './compare-lines.ts';
export { waitingSince } from './deliveries.ts';
export { listEvents } from './events.ts';
export { listClientConnections } from './grants.ts';
export type { ServerAccess } from './policy/access.ts';
export { type ExplainedCall, explainCall, findAccess, type PolicySources } from './policy/explain.ts';
export {
  createPolicyFinder,
  explainOperation,
  type FindPolicy,
  type NamedOperation,
  operationText,
  outcomeText,
} from './policy/operation.ts';
export { createPrincipals } from './policy/principal.ts';
export { describeProviderStatus, listProviderStatus } from './provider-status.ts';
export { findReference, readReference } from './refusals.ts';
export {
  createFilter,
  type EventCriteria,
  type EventFilter,
  type SearchedStore,
} from './search-events.ts';
export { countMissing } from './statistics/count-hours.ts';
export { idPrefixOf } from './statistics/event-time.ts';
export {
  readStatistics,
  type ShownCounts,
  type ShownStatistics,
  timeOfStatistics,
} from './statistics/read-statistics.ts';
export { createStatistics } from './statistics/statistics.ts';
export type { SeriesStep } from './statistics/steps.ts';
export { type ListedStream, listEventStreams, removeStream } from './streams.ts';
