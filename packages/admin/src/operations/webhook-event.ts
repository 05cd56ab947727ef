/** Audit events about webhooks, which are not delivered themselves. */
import type { ComponentEvent } from '@portcullis/authorization-server';

/** A receiver rejected an event repeatedly: it is not sent again. */
export type WebhookEvent = ComponentEvent & {
  readonly type: 'webhook.event_rejected';
  readonly webhook: string;
  /** Of the rejected event. */
  readonly eventId: string;
  /** Such as the status of the response. */
  readonly reason: string;
};
