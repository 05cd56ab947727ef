/** The gateway: authorization in front of MCP servers that have none. */
import type { Principal } from '@portcullis/resource-server';

/** One authorized request to a server of the gateway. */
export interface GatewayRequest {
  /** Verified by the guard for exactly this server. */
  readonly principal: Principal;
}
