/** What a scanned body contains: its messages, as far as policy, handles and the audit log need them. */
import type { McpOperation } from '@portcullis/protocol';

/** Bytes of a body: from `start` up to, not including, `end`; -1: its end has not arrived. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A string of a message that the gateway may replace, such as a sealed handle. */
export interface ScannedText {
  readonly value: string;
  /** The JSON string with its quotes. */
  readonly range: ByteRange;
}

/** One JSON-RPC message of a body. Its members are those that every JSON parser finds in it. */
export interface ScannedMessage extends McpOperation {
  readonly kind: 'request' | 'notification' | 'response';
  /** The JSON text of the id, as written; `null` for a notification. */
  readonly id: string | null;
  /** Empty for a response. */
  readonly method: string;
  /** The name that the client wrote, where it is that of a merged server. */
  readonly mergedName?: string;
  /** Resources of a `subscriptions/listen`. */
  readonly subscriptions: readonly string[];
  /** `params.arguments`. */
  readonly arguments: ByteRange | null;
  /** `params.taskId`. */
  readonly task: ScannedText | null;
  /** Whether there is a `params.task`: the result shall be a task. */
  readonly asksForTask: boolean;
  /** The task that `_meta` of the parameters or of the result names. */
  readonly relatedTask: ScannedText | null;
  /** `params.requestState`. */
  readonly requestState: ScannedText | null;
  /** The id of a response, chosen by the backend in its server request; `null` for other messages. */
  readonly serverRequest: ScannedText | null;
  /** The trace context in `params._meta`; an empty value if it is no text. */
  readonly traceparent: ScannedText | null;
  readonly tracestate: ScannedText | null;
  /** Offset of the value of `params._meta`, of `params`, and of the message. */
  readonly metaAt: number | null;
  readonly paramsAt: number | null;
  readonly at: number;
  /** The protocol version in `params._meta`, which marks a stateless message. */
  readonly protocolVersion: string | null;
  /** Whether `params._meta` has the capabilities of the client, which a stateless request has to have. */
  readonly hasCapabilities: boolean;
}

/** A scanned body. */
export interface ScannedBody {
  readonly isBatch: boolean;
  /** At least one. */
  readonly messages: readonly ScannedMessage[];
  /** Bytes. */
  readonly length: number;
  /** Objects, arrays and what is in them: parsed, each takes memory. */
  readonly values: number;
}

/** Scans a body while it arrives. */
export interface BodyScanner {
  /** @throws MessageError for a body that parsers could read in different ways */
  push(chunk: Uint8Array): void;
  /**
   * What is known before the end, inside a value that decides nothing, such as the arguments of a call; `null` elsewhere, in a batch,
   * and as long as it is not known what the message asks for. The same object as long as nothing more is known: bytes in between
   * hold nothing that decides. More may follow, so that only `end` decides.
   */
  peek(): ScannedBody | null;
  /** Call it before the last chunk is forwarded. @throws MessageError for an incomplete body */
  end(): ScannedBody;
}
