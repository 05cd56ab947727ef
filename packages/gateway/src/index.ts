/** The gateway: authorization in front of MCP servers that have none. */
export { createCallAudit } from './audit/call-audit.ts';
export type {
  CallAudit,
  CallDecision,
  CallOutcome,
  CallRecord,
} from './audit/call-record.ts';
export {
  type CallEvent,
  type GatewayAuditEvent,
  gatewayAuditEvents,
  type ToolChangeEvent,
  type ToolDecisionEvent,
} from './audit/events.ts';
export { findMissingIsolation } from './backends/stdio/isolation.ts';
export {
  type BackendAnswer,
  type BackendCredential,
  ConnectionRequired,
  type CredentialSource,
} from './credentials/credential-source.ts';
export {
  type CredentialServices,
  createCredentialSource,
  createUserBackends,
  type UserBackendsOptions,
} from './credentials/credentials.ts';
export {
  createGateway,
  type Gateway,
  type GatewayEvent,
  type GatewayOptions,
  type ServerHealth,
} from './gateway.ts';
export type { CredentialDefinition } from './servers/credential-options.ts';
export type { Owner } from './servers/owner.ts';
export type { GatewayRequest } from './servers/request.ts';
export type {
  AccessRule,
  AccessRules,
  ArgumentAudit,
  BackendDefinition,
  ConditionalAccessRule,
  GatewayServer,
  HttpBackendDefinition,
  ProcessLimits,
  RuleTable,
  ServerLimits,
  StdioBackendDefinition,
} from './servers/server.ts';
export { createSealer, type SealedKind, type Sealer } from './sessions/sealer.ts';
export { type FailedPart, type ServerTest, testServer } from './test-server.ts';
