/** Entry point `shared-signals`: the transmitter of security events. */
export type { StreamEvent } from '../operations/component-events.ts';
export { createDecideStreamScopes, createEventTransmitter, type EventTransmitter } from './transmitter.ts';
