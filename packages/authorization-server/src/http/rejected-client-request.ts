/** The error of a client's request that is shown on a page, with what explains it in the audit log. */
import { OAuthError, type OAuthErrorCode, type OAuthErrorOptions } from '@portcullis/protocol';
import type { RejectionFacts } from '../audit/events.ts';

export class RejectedClientRequest extends OAuthError {
  override readonly name: string = 'RejectedClientRequest';
  /** For the audit log only. */
  readonly facts: RejectionFacts;

  constructor(
    code: OAuthErrorCode,
    description: string,
    { facts, ...options }: OAuthErrorOptions & { readonly facts: RejectionFacts },
  ) {
    super(code, description, options);
    this.facts = facts;
  }
}
