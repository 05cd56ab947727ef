/** The gateway: authorization in front of MCP servers that have none. */
export { createCallAudit } from './audit/call-audit.ts';
export type { CallAudit } from './audit/call-record.ts';
export { type GatewayAuditEvent, gatewayAuditEvents, type ToolChangeEvent } from './audit/events.ts';
export { createDecisionPoint, type DecisionPoint } from './authzen/decision-point.ts';
export { findMissingIsolation } from './backends/stdio/isolation.ts';
export { describeSlowStart } from './backends/stdio/stdio-backend.ts';
export { findApprovedHints } from './catalogue/pins.ts';
export {
  type BackendCredential,
  ConnectionRequired,
  type CredentialSource,
} from './credentials/credential-source.ts';
export { createCredentialSource, createUserBackends } from './credentials/credentials.ts';
export { createGateway, type Gateway, type GatewayOptions, type ServerHealth } from './gateway.ts';
export type { GatewayEvent } from './serve-servers.ts';
export type { GatewayRequest, Owner } from './servers/request.ts';
export type { GatewayServer } from './servers/server.ts';
export { createSealer, type Sealer } from './sessions/sealer.ts';
export { type FailedPart, type ServerTest, testServer } from './test-server.ts';
