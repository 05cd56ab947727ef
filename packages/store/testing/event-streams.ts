/** Samples of event streams. */
import type { EventStreamRecord } from '@portcullis/authorization-server/store';
import { NOW, newHash } from './samples.ts';

export function newEventStream(changes: Partial<EventStreamRecord> = {}): EventStreamRecord {
  return {
    id: `stream_${newHash()}`,
    clientId: 'siem',
    endpoint: 'https://siem.example/events',
    encryptedAuthorization: new Uint8Array([1, 2, 3]),
    eventsRequested: ['https://schemas.openid.net/secevent/caep/event-type/session-revoked'],
    description: 'SIEM',
    status: 'enabled',
    reason: null,
    removedAccounts: [],
    cursor: 'c0',
    acknowledged: null,
    verificationRequestedAt: 0,
    createdAt: NOW,
    version: 1,
    ...changes,
  };
}
