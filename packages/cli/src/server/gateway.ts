/** The gateway of this process, loaded only if servers are configured. */

import type { AuthorizationServer, UserBackends } from '@portcullis/authorization-server';
import type { CredentialSource, Gateway, GatewayAuditEvent, ToolChangeEvent } from '@portcullis/gateway';
import { guardResourcesOf, hasApprovals, hasConditions } from '@portcullis/gateway/options';
import { HTTPS_SECURITY_HEADERS, SECURITY_HEADERS } from '@portcullis/http';
import type { DefinitionPinStore } from '@portcullis/protocol';
import type { Guard, ResourceOptions } from '@portcullis/resource-server';
import { SettingsError } from '../errors.ts';
import type { LastingServer } from './lasting-server.ts';
import type { Parts } from './parts.ts';
import type { Prepared } from './prepare.ts';
import { checkServerPaths } from './server-paths.ts';

/**
 * All gateways share one credential source: those of unchanged servers are retained.
 * @returns a function that creates the gateway of the configured servers; `null` without any. `routes` are those of the
 * authorization server, whose paths no server may shadow; `previous` is reused for unchanged servers
 */
export function createGatewayFactory(
  { issuer, masterKey, previousMasterKeys, decisionPoint, log }: Parts,
  server: LastingServer,
  pins: DefinitionPinStore,
) {
  let credentials: CredentialSource | null = null;
  return async (
    prepared: Prepared,
    routes: AuthorizationServer['routes'],
    createGuard: (resources: readonly ResourceOptions[]) => Guard,
    previous: Gateway | null,
  ): Promise<Gateway | null> => {
    const servers = prepared.serversAt(issuer);
    if (servers.length === 0 && previous === null) return null;
    checkServerPaths(
      prepared.settings,
      prepared.application,
      routes.map(({ path }) => path),
    );
    const {
      createCallAudit,
      createCredentialSource,
      createGateway,
      findMissingIsolation,
      gatewayAuditEvents,
    } = await import('@portcullis/gateway');
    const missing = findMissingIsolation(servers);
    if (missing.length > 0) throw new SettingsError(missing);
    credentials ??= createCredentialSource(server);
    const auditEvents = { ...gatewayAuditEvents, listener: log };
    const record = (event: GatewayAuditEvent) => server.recordOf(auditEvents, event);
    return createGateway({
      servers,
      conditions: hasConditions(servers) ? await (await import('@portcullis/policy')).loadConditions() : null,
      decisionPoint,
      guard: createGuard(guardResourcesOf(servers)),
      previous,
      strippedPrefix: prepared.settings.strippedPrefix,
      masterKey,
      previousMasterKeys,
      pins,
      approvals: server.approvals,
      events: (event) => {
        if (isToolChange(event)) record(event);
        else log(event);
      },
      audit: createCallAudit(record),
      credentials,
      headers: issuer.startsWith('https:') ? HTTPS_SECURITY_HEADERS : SECURITY_HEADERS,
    });
  };
}

/** Backends at which users connect accounts, for the authorization server; `null` without a gateway. */
export async function userBackendsOf({ prepared, issuer }: Parts): Promise<UserBackends | null> {
  const servers = prepared.serversAt(issuer);
  if (servers.length === 0) return null;
  const { createUserBackends } = await import('@portcullis/gateway');
  const clientName = prepared.settings.name ?? new URL(issuer).host;
  return createUserBackends({ servers: () => servers, clientName });
}

/** Whether a rule of the configured servers, or the admin MCP server, needs approvals, for the authorization server. */
export function needsApprovals({ prepared, issuer }: Parts): boolean {
  const { admin } = prepared.settings;
  return admin?.approvals === true || hasApprovals(prepared.serversAt(issuer));
}

function isToolChange(event: { readonly type: string }): event is ToolChangeEvent {
  return event.type === 'tool.changed';
}
