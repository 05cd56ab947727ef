/** Asks clients of the stateless revision to let their user connect an account: a result with a URL to open, and a wait for the connection. */
import { errorCodes, isMembers, type Message, parameter } from '@portcullis/http';
import { MAY_ASK, metaKeys, STATELESS } from './backends/revisions.ts';
import type { ConnectionRequired } from './credentials/credential-source.ts';
import { GatewayError, InputRequired } from './http/error-response.ts';
import type { ScannedBody } from './messages/scanned-message.ts';
import type { Owner } from './servers/request.ts';
import type { Sealer } from './sessions/sealer.ts';

/** The request of a client that was asked, sent again. */
export interface ConnectionRetry {
  /** The user does not want to open the URL. */
  readonly isDeclined: boolean;
  /** The body without what is for the gateway. */
  readonly body: Buffer;
}

export interface ConnectionRetries {
  /** `null` for a request that is no retry of one. */
  readRetry(owner: Owner, scanned: ScannedBody, body: Buffer): ConnectionRetry | null;
  /**
   * What a stateless request is answered with; other requests get the error as it is, which their revisions know.
   * @see MCP 2026-07-28, base protocol: the error code -32042 MUST NOT be used
   */
  answer(required: ConnectionRequired, owner: Owner, body: Buffer, retry: ConnectionRetry | null): Error;
}

/** The key of the question in the result. */
const KEY = 'connect';

export function createConnectionRetries(sealer: Sealer): ConnectionRetries {
  return {
    readRetry(owner, { messages, isBatch }, body) {
      const state = messages[0]?.requestState ?? null;
      if (state === null || isBatch || sealer.open('request', owner, state.value) !== KEY) return null;
      const message = JSON.parse(body.toString()) as Message;
      const { inputResponses: _, requestState: __, ...params } = message.params as Record<string, unknown>;
      const action = parameter(message, 'inputResponses', KEY, 'action') ?? 'accept';
      return { isDeclined: action !== 'accept', body: Buffer.from(JSON.stringify({ ...message, params })) };
    },
    answer(required, owner, body, retry) {
      const message = JSON.parse(body.toString()) as Message;
      if (parameter(message, '_meta', metaKeys.version) !== STATELESS) return required;
      const { message: text, url } = required;
      const mayAsk = MAY_ASK.has(message.method ?? '');
      if (!mayAsk || retry?.isDeclined === true)
        return new GatewayError(200, errorCodes.internal, text, { details: { url } });
      if (!isMembers(parameter(message, '_meta', metaKeys.clientCapabilities, 'elicitation', 'url')))
        return new GatewayError(400, errorCodes.missingClientCapability, text, {
          details: { requiredCapabilities: { elicitation: { url: {} } }, url },
        });
      const requestState = sealer.seal('request', owner, KEY);
      // Who has opened the URL is not asked again.
      if (retry !== null) return new InputRequired({ requestState });
      const params = { mode: 'url', message: text, url };
      return new InputRequired({
        inputRequests: { [KEY]: { method: 'elicitation/create', params } },
        requestState,
      });
    },
  };
}
