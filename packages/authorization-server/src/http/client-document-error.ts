/** The error of a client metadata document that could not be fetched. It has a page of its own, which names the host. */
import { OAuthError, type OAuthErrorCode, type OAuthErrorOptions } from '@portcullis/protocol';

export class ClientDocumentError extends OAuthError {
  override readonly name: string = 'ClientDocumentError';
  /** The host of the document. */
  readonly host: string;

  constructor(host: string, code: OAuthErrorCode, description: string, options: OAuthErrorOptions) {
    super(code, description, options);
    this.host = host;
  }
}
