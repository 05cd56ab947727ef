/** Entry point `shared-signals`: the transmitter of security events. */
export type { StreamEvent } from '../operations/stream-event.ts';
export { createDecideStreamScopes, createEventTransmitter, type EventTransmitter } from './transmitter.ts';
