/** What operations work with: the store, the administrations of the authorization server, and what this process serves. */
import {
  type AccountAdministration,
  type ApprovalAdministration,
  type ClientAdministration,
  type ConnectionAdministration,
  createAccountAdministration,
  createApprovalAdministration,
  createClientAdministration,
  createConnectionAdministration,
  createInitialAccessTokenAdministration,
  createProvisioningTokenAdministration,
  type EventSink,
  type InitialAccessTokenAdministration,
  type KeyAdministration,
  type OutboundSettings,
  type ProvisioningTokenAdministration,
} from '@portcullis/authorization-server';
import type {
  AuthorizationStore,
  EventHourStore,
  EventStreamStore,
  WebhookStore,
} from '@portcullis/authorization-server/store';
import type { GatewayAuditEvent, ServerHealth } from '@portcullis/gateway';
import type { GatewayServer } from '@portcullis/gateway/options';
import type { DefinitionPinStore, RedirectPolicy } from '@portcullis/protocol';
import type { ChangeEvent, LifecycleEvent, StreamEvent } from './component-events.ts';
import type { FindRole } from './roles.ts';
import { createStatistics, type Statistics } from './statistics/statistics.ts';

/** Client metadata of the configuration. */
type ConfiguredClient = Readonly<Record<string, unknown>> & { readonly client_id: string };

/** An identity provider of the configuration. */
export interface ConfiguredProvider {
  readonly id: string;
  readonly name: string;
  readonly provider: { readonly protocol: 'openid' | 'oauth'; readonly issuer: string };
}

type ToolDecisionEvent = Extract<GatewayAuditEvent, { readonly type: 'tool.approved' | 'tool.rejected' }>;

/** What the process that serves the API knows. */
export interface AdminSources {
  readonly issuer: string;
  readonly store: AuthorizationStore & DefinitionPinStore & EventHourStore & EventStreamStore & WebhookStore;
  /** Epoch seconds. */
  readonly clock: () => number;
  /** Records events of the authorization server, and of other components. */
  readonly events: (
    event: Parameters<EventSink>[0] | ChangeEvent | LifecycleEvent | StreamEvent | ToolDecisionEvent,
  ) => void;
  readonly findRole: FindRole;
  readonly keys: KeyAdministration;
  readonly redirects: RedirectPolicy;
  /** The clients of the configuration. */
  readonly configuredClients: () => readonly ConfiguredClient[];
  readonly identityProviders: readonly ConfiguredProvider[];
  /** Seconds after which signing keys are replaced; `null`: only by command. */
  readonly keyRotation: number | null;
  /** Rate limits in effect, by name. */
  readonly rateLimits: Readonly<Record<string, { readonly burst: number; readonly perMinute: number }>>;
  /** Path of the configuration file; `null`: there is none. */
  readonly configFile: string | null;
  /** Whether users may have accounts with passwords or passkeys here. */
  readonly localAccounts: boolean;
  /** Whether invitations are mailed: then their links are shown to their recipients only. */
  readonly sendsMail: boolean;
  /** Receivers of events. */
  readonly receivers: readonly EventReceiver[];
  /** `null`: no mail is sent. */
  readonly mail: {
    readonly server: string;
    readonly sendTest: (to: string) => Promise<TryOutcome>;
  } | null;
  /** Identity providers that provision users and groups, by identifier. */
  readonly provisioners: readonly string[];
  /** For requests to addresses that an operator names. */
  readonly outbound: OutboundSettings;
  /** The servers behind the gateway. */
  readonly servers: () => readonly GatewayServer[];
  readonly health: () => readonly ServerHealth[];
}

/** How a receiver has responded to a test. */
interface TryOutcome {
  readonly kind: 'delivered' | 'failed' | 'rejected';
  readonly reason: string | null;
}

/** A webhook, or another receiver of events, without its secrets; the path of an address may be one. */
interface EventReceiver {
  readonly name: string;
  readonly host: string;
  /** Types of the events that it gets; `null`: all. */
  readonly types: readonly string[] | null;
  /** Sends a test event. */
  readonly tryOut: () => Promise<TryOutcome & { readonly id: string }>;
}

/** Who acts, for the audit log. */
export interface Operator {
  /** `null`: a client that acts for itself. */
  readonly accountId: string | null;
  readonly clientId: string;
  readonly grantId: string | null;
}

/** A caller who may administer, as far as `requireScope` allows. */
export interface AuthorizedCaller {
  readonly operator: Operator;
  /**
   * @throws OAuthError `insufficient_scope` if the token lacks it
   * @throws ProblemError 403 if the role does not permit it any more
   */
  readonly requireScope: (scope: string) => void;
  /** Whether the second factor and the role permit a scope now, for a response that lasts. */
  readonly isStillPermitted: (scope: string) => Promise<boolean>;
}

/** Everything that operations use. */
export interface Administration extends AdminSources {
  readonly accounts: AccountAdministration;
  readonly connections: ConnectionAdministration;
  readonly clients: ClientAdministration;
  readonly initialAccessTokens: InitialAccessTokenAdministration;
  readonly provisioningTokens: ProvisioningTokenAdministration;
  readonly approvals: ApprovalAdministration;
  readonly statistics: Statistics;
}

export function createAdministration(sources: AdminSources): Administration {
  const clients = {
    has: (id: string) => sources.configuredClients().some(({ client_id: own }) => own === id),
  };
  return {
    ...sources,
    accounts: createAccountAdministration(sources),
    connections: createConnectionAdministration(sources),
    clients: createClientAdministration({ ...sources, clients }),
    initialAccessTokens: createInitialAccessTokenAdministration(sources),
    provisioningTokens: createProvisioningTokenAdministration(sources),
    approvals: createApprovalAdministration(sources),
    statistics: createStatistics(sources.store, Date.now),
  };
}

/** An operation with who asks for it. */
export interface AdminRequest {
  readonly admin: Administration;
  readonly operator: Operator;
  /** `null`: none was given. */
  readonly reason: string | null;
}

/** Records a change that was made. @param operation `users.disable` @param target the identifier of what was changed */
export function recordChange(
  { admin, operator: { accountId, clientId, grantId }, reason }: AdminRequest,
  operation: string,
  target: string,
  { before = null, after = null }: Partial<Pick<ChangeEvent, 'before' | 'after'>> = {},
): void {
  const who = { clientId, ...(accountId !== null && { accountId }), ...(grantId !== null && { grantId }) };
  admin.events({ type: 'admin.changed', operation, target, before, after, reason, ...who });
}
