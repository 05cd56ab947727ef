/** The gateway: authorization in front of MCP servers that have none. */
export { createCallAudit } from './audit/call-audit.ts';
export {
  type CallAudit,
  type CallDecision,
  type CallOutcome,
  type CallRecord,
  noAudit,
} from './audit/call-record.ts';
export {
  type CallEvent,
  type GatewayAuditEvent,
  gatewayAuditEvents,
  type ToolChangeEvent,
  type ToolDecisionEvent,
} from './audit/events.ts';
export {
  BackendError,
  type BackendFailure,
  type BackendSession,
  type Call,
  type InitializeParams,
  type InitializeResult,
  type MessageBackend,
} from './backends/backend.ts';
export { findMissingIsolation } from './backends/stdio/isolation.ts';
export {
  type BackendAnswer,
  type BackendCredential,
  ConnectionRequired,
  type CredentialSource,
  noCredential,
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
export { createMessagePath, type MessagePath, type MessagePathOptions } from './message-path.ts';
export { createBodyScanner, scanBody } from './messages/body-scanner.ts';
export { checkHeaderAgreement } from './messages/header-agreement.ts';
export { MessageError } from './messages/message-error.ts';
export type {
  BodyScanner,
  ByteRange,
  ScannedBody,
  ScannedMessage,
  ScannedText,
} from './messages/scanned-message.ts';
export type { AccessDecision, Caller, Policy, ToolHints } from './policy/policy.ts';
export type {
  Catalogue,
  CataloguedTool,
  ListTools,
  ToolCatalogue,
  ToolState,
} from './review/catalogue.ts';
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
export { createSealer, type HandleKind, type Sealer } from './sessions/sealer.ts';
export { type FailedPart, type ServerTest, testServer } from './test-server.ts';
