/** Audit events of administration, of the server itself, and of what sends events. */
import type { ComponentEvent } from '@portcullis/authorization-server';

/** A change through the API or the MCP server. */
export interface ChangeEvent {
  readonly type: 'admin.changed';
  /** `users.disable` */
  readonly operation: string;
  /** The identifier of what was changed. */
  readonly target: string;
  /** What it was, as far as it has changed. */
  readonly before: unknown;
  readonly after: unknown;
  /** As the operator gave it. */
  readonly reason: string | null;
  readonly accountId?: string;
  readonly clientId: string;
  readonly grantId?: string;
}

/** The server started, or switched to the servers of a changed configuration file: the plots of the console mark them. */
export type LifecycleEvent = ComponentEvent &
  (
    | { readonly type: 'server.started'; readonly version: string }
    /** `servers`: how many there are. */
    | { readonly type: 'configuration.reloaded'; readonly servers: number }
  );

/** The mail server rejected the mail of an event repeatedly: it is not sent again. */
export type MailEvent = ComponentEvent & {
  readonly type: 'mail.rejected';
  /** Of the event that the mail was about. */
  readonly eventId: string;
  /** The status of the response. */
  readonly reason: string;
};

/** The name of the progress of mail among those of webhooks: no webhook has such a name. */
export const MAIL_PROGRESS = '.mail';

/** A receiver rejected an event repeatedly: it is not sent again. It is not delivered itself. */
export type WebhookEvent = ComponentEvent & {
  readonly type: 'webhook.event_rejected';
  readonly webhook: string;
  /** Of the rejected event. */
  readonly eventId: string;
  /** Such as the status of the response. */
  readonly reason: string;
};

/** A receiver of security events manages its stream, or rejects a token of it. */
export type StreamEvent = ComponentEvent & { readonly clientId: string; readonly streamId: string } & (
    | { readonly type: 'event_stream.created' | 'event_stream.removed' }
    | { readonly type: 'event_stream.changed'; readonly status?: string }
    /** `state`: what the verification event repeats. */
    | { readonly type: 'event_stream.verification_requested'; readonly state?: string }
    | {
        readonly type: 'event_stream.event_rejected';
        /** The identifier of the security event token. */
        readonly token: string;
        readonly reason: string;
      }
  );

/** All of them. */
export type AdministrationEvent = ChangeEvent | LifecycleEvent | MailEvent | StreamEvent | WebhookEvent;
