/** Streams as the rules decide about them: who may open one, and which changes of resources are reported there. */
import { isMembers } from '@portcullis/http';
import type { McpOperation } from '@portcullis/protocol';
import { WITHOUT_TARGET } from '../messages/read-message.ts';
import type { DecidedBody } from './check-messages.ts';

/** The method of revision 2026-07-28 by which clients request what GET opens before. */
export const LISTEN = 'subscriptions/listen';

/** A GET request as the rules decide about it. */
export const STREAM: DecidedBody = {
  isBatch: false,
  messages: [{ ...WITHOUT_TARGET, kind: 'request', id: null, method: LISTEN, at: 0 }],
  length: 0,
  values: 0,
  bytes: Buffer.alloc(0),
};

/** The reading of the resource whose change a message reports; `null` for any other message. */
export function reportedOperation(message: unknown): McpOperation | null {
  if (!isMembers(message) || message['method'] !== 'notifications/resources/updated') return null;
  const { params } = message;
  const uri = isMembers(params) ? params['uri'] : undefined;
  return typeof uri === 'string'
    ? { method: 'resources/read', tool: null, prompt: null, resource: uri }
    : null;
}
