/** Entry point `webhooks`: the delivery of audit events to other programs. */
export type { WebhookEvent } from '../operations/component-events.ts';
export { createDelivery, type Delivery, type DeliveryReport } from './delivery.ts';
export { createSend, type SendEvent } from './send.ts';
