/** The error of a failed fetch of JSON. */

/**
 * Why a fetch failed: the budget is exhausted (`budget`), this server has no network (`egress`), the host is down (`outage`), it
 * withdrew the document (`gone`), or the URL or response is invalid (`unusable`).
 */
export type RemoteIssue = 'budget' | 'egress' | 'outage' | 'gone' | 'unusable';

/** A failed fetch. The reason is for the audit log only. */
export class FetchJsonError extends Error {
  override readonly name: string = 'FetchJsonError';
  readonly issue: RemoteIssue;
  readonly reason: string;
  /** Seconds until the budget allows another fetch. */
  readonly retryAfter: number;

  constructor(issue: RemoteIssue, reason: string, retryAfter = 5) {
    super(reason);
    this.issue = issue;
    this.reason = reason;
    this.retryAfter = retryAfter;
  }
}
