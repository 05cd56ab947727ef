/** Writes a trace context into `params._meta` of a message on its way to the backend. @see MCP SEP-414 */
import type { TraceContext } from '@portcullis/protocol';
import { scanBody } from '../messages/body-scanner.ts';
import type { ScannedBody, ScannedMessage } from '../messages/scanned-message.ts';
import { type Edit, withEdits } from '../sessions/message-handles.ts';

/** @param scanned of exactly these bytes; `null`: they were changed after they were scanned */
export function withTraceContext(bytes: Buffer, scanned: ScannedBody | null, trace: TraceContext): Buffer {
  const { isBatch, messages } = scanned ?? scanBody(bytes);
  const [message] = messages;
  // Each message of a batch would have a trace of its own.
  if (isBatch || message === undefined || message.kind === 'response') return bytes;
  return withEdits(bytes, editsOf(message, bytes, trace));
}

function editsOf(message: ScannedMessage, bytes: Buffer, context: TraceContext): readonly Edit[] {
  const { traceparent, tracestate, metaAt, paramsAt, at } = message;
  const edits: Edit[] = [];
  // What belongs to another trace must not stay.
  if (tracestate !== null)
    edits.push({ range: tracestate.range, text: JSON.stringify(context.tracestate ?? '') });
  if (traceparent !== null)
    return [...edits, { range: traceparent.range, text: JSON.stringify(context.traceparent) }];
  const { tracestate: _, ...own } = context;
  const members = JSON.stringify(tracestate === null ? context : own).slice(1, -1);
  if (metaAt !== null) return [...edits, ...insertion(bytes, metaAt, members)];
  return paramsAt !== null
    ? insertion(bytes, paramsAt, `"_meta":{${members}}`)
    : insertion(bytes, at, `"params":{"_meta":{${members}}}`);
}

const [OPEN, CLOSE] = Buffer.from('{}');
const WHITE_SPACE: ReadonlySet<number | undefined> = new Set(Buffer.from(' \t\r\n'));

/** Adds members to an object. @returns nothing for any other value */
function insertion(bytes: Buffer, at: number, members: string): readonly Edit[] {
  if (bytes[at] !== OPEN) return [];
  const start = at + 1;
  let next = start;
  while (WHITE_SPACE.has(bytes[next])) next += 1;
  return [{ range: { start, end: start }, text: bytes[next] === CLOSE ? members : `${members},` }];
}
