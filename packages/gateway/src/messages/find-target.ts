/** The name or URI of what a parsed message applies to: the parameter that `readOperationTarget` reads, by which the rules decide. */
import { isMembers, type JsonFields, type Message } from '@portcullis/http';

/** Where a message names its target. */
export interface MessageTarget {
  readonly member: 'name' | 'uri';
  /** As it is written. */
  readonly text: string;
  /** The parameters with another name or URI. */
  readonly paramsWith: (text: string) => JsonFields;
}

/** Requests and the parameter by which they name their target. */
const TARGETS: ReadonlyMap<string, 'name' | 'uri'> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['resources/subscribe', 'uri'],
  ['resources/unsubscribe', 'uri'],
]);

/** `null` for a message without a target. */
export function findTarget({ method = '', params }: Message): MessageTarget | null {
  if (!isMembers(params)) return null;
  const member = TARGETS.get(method);
  if (member !== undefined) return targetIn(params, member, (own) => own);
  const { ref } = params;
  if (method !== 'completion/complete' || !isMembers(ref)) return null;
  const { type } = ref;
  if (type !== 'ref/prompt' && type !== 'ref/resource') return null;
  return targetIn(ref, type === 'ref/prompt' ? 'name' : 'uri', (own) => ({ ...params, ref: own }));
}

function targetIn(
  holder: JsonFields,
  member: 'name' | 'uri',
  paramsWith: (holder: JsonFields) => JsonFields,
): MessageTarget | null {
  const text = holder[member];
  if (typeof text !== 'string') return null;
  return { member, text, paramsWith: (other) => paramsWith({ ...holder, [member]: other }) };
}
