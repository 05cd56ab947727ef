/** The error of a client's request that is shown on a page, with what explains it there and in the audit log. */
import { OAuthError, type OAuthErrorCode, type OAuthErrorOptions } from '@portcullis/protocol';
import type { RejectionFacts } from '../audit/events.ts';

interface Explanation {
  /** For the audit log only. */
  readonly facts?: RejectionFacts;
  /** The host of a client metadata document that could not be fetched: a page of its own names it. */
  readonly documentHost?: string;
}

export class RejectedClientRequest extends OAuthError {
  override readonly name: string = 'RejectedClientRequest';
  readonly explanation: Explanation;

  constructor(
    code: OAuthErrorCode,
    description: string,
    { facts, documentHost, ...options }: OAuthErrorOptions & Explanation,
  ) {
    super(code, description, options);
    this.explanation = { ...(facts && { facts }), ...(documentHost && { documentHost }) };
  }
}
