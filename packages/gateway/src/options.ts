/** The options schema of the gateway, for programs that configure one; loads nothing of the gateway itself. */
export { defineDecisionPoint, policySchema } from './authzen/options.ts';
export { createDecidingPolicies, type DecidingPolicy } from './server-policies.ts';
export { checkConditions, defineServers, type ServerSources } from './servers/define-servers.ts';
export { mergedName } from './servers/merged-names.ts';
export { type GatewayServerOptions, serversSchema } from './servers/options.ts';
export {
  guardResourcesOf,
  hasApprovals,
  hasConditions,
  publicPartsOf,
  resourcesOf,
} from './servers/resources.ts';
export type { GatewayServer } from './servers/server.ts';
