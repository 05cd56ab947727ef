/** Asks clients of the stateless revision to let their user act on a page: a result with a URL to open, and a wait for the outcome. */
import { randomUUID } from 'node:crypto';
import { isMembers, type JsonFields, type Message, parameter, parseExactly } from '@portcullis/http';
import { MAY_ASK, metaKeys, STATELESS } from './backends/revisions.ts';
import { inputRequired } from './http/error-response.ts';
import { GatewayError } from './messages/gateway-error.ts';
import type { ByteRange, ScannedBody } from './messages/scanned-message.ts';
import type { UserActionRequired } from './messages/user-action.ts';
import type { Owner } from './servers/request.ts';
import { type Operation, openState, operationOf, sealState } from './sessions/message-handles.ts';
import type { Sealer } from './sessions/sealer.ts';

/** The request of a client that was asked, sent again. */
export interface UserActionRetry {
  /** The user does not want to open the URL. */
  readonly isDeclined: boolean;
  /** The body without what is for the gateway, with the input for the backend that the request had before. */
  readonly body: Buffer;
  /** The opened state of the request: the input for the backend that it had before, as JSON. */
  readonly state: string;
}

/** The body of a request whose client is asked. */
interface SentBody {
  readonly scanned: ScannedBody;
  /** As the client sent it. */
  readonly bytes: Buffer;
  readonly retry: UserActionRetry | null;
}

export type UserActionRetries = ReturnType<typeof createUserActionRetries>;

/** The key of the input request in the result. */
const KEY = 'open';

export function createUserActionRetries(sealer: Sealer) {
  return {
    /** `null` for a request that is no retry of one. */
    readRetry(owner: Owner, { messages, isBatch }: ScannedBody, body: Buffer): UserActionRetry | null {
      const sealed = messages[0]?.requestState ?? null;
      if (messages[0] === undefined || sealed === null || isBatch) return null;
      const state = openState(sealer, 'action', owner, operationOf(messages), sealed.value);
      if (state === null) return null;
      const message = parseExactly(body.toString()) as Message;
      const action = parameter(message, 'inputResponses', KEY, 'action') ?? 'accept';
      return {
        isDeclined: action !== 'accept',
        body: withInput(message, parseExactly(state) as JsonFields, messages[0].arguments, body),
        state,
      };
    },
    /**
     * What a stateless request is answered with; other requests get the error as it is, which their revisions know.
     * @see MCP 2026-07-28, base protocol: the error code -32042 MUST NOT be used
     */
    answer(required: UserActionRequired, owner: Owner, { scanned, bytes, retry }: SentBody): Error {
      const { isBatch, messages } = scanned;
      if (isBatch || messages[0]?.protocolVersion !== STATELESS) return required;
      const message = parseExactly(bytes.toString()) as Message;
      const operation = operationOf(messages);
      const { message: text, url } = required;
      const mayAsk = MAY_ASK.has(message.method ?? '');
      if (!mayAsk || retry?.isDeclined === true)
        return new GatewayError(200, 'internal', text, { details: { url } });
      if (!isMembers(parameter(message, '_meta', metaKeys.clientCapabilities, 'elicitation', 'url')))
        return new GatewayError(400, 'missingClientCapability', text, {
          details: { requiredCapabilities: { elicitation: { url: {} } }, url },
        });
      const state = retry?.state ?? JSON.stringify(inputOf(message, sealer, owner, operation));
      const requestState = sealState(sealer, 'action', owner, operation, state);
      // Who has opened the URL is not asked again.
      if (retry !== null) return inputRequired({ requestState });
      const params = { mode: 'url', message: text, url };
      return inputRequired({
        inputRequests: { [KEY]: { method: 'elicitation/create', params } },
        requestState,
      });
    },
  };
}

/** The input that a request has for the backend: the client does not send it again with its next response. */
function inputOf({ params }: Message, sealer: Sealer, owner: Owner, operation: Operation | null): JsonFields {
  const { inputResponses, requestState } = params as JsonFields;
  const state =
    typeof requestState === 'string' ? openState(sealer, 'request', owner, operation, requestState) : null;
  return { inputResponses, ...(state !== null && { requestState: state }) };
}

/** The arguments stay as they were written, byte for byte: rules and approvals are about these bytes. */
function withInput(message: Message, input: JsonFields, given: ByteRange | null, body: Buffer): Buffer {
  const { inputResponses: _, requestState: __, ...others } = message.params as JsonFields;
  const params = { ...others, ...input };
  if (given === null) return Buffer.from(JSON.stringify({ ...message, params }));
  const marker = randomUUID();
  const text = JSON.stringify({ ...message, params: { ...params, arguments: marker } });
  const [before = '', after = ''] = text.split(JSON.stringify(marker));
  return Buffer.concat([Buffer.from(before), body.subarray(given.start, given.end), Buffer.from(after)]);
}
