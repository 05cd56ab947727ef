/** The error for a request that waits for a user: to connect an account, or to approve a call. */
import { randomUUID } from 'node:crypto';

/** A user has to act on a page of this server first. Nothing has reached the backend. */
export abstract class UserActionRequired extends Error {
  /** The page. */
  readonly url: string;
  /** Whether the user who has to act knows already, so that the request may wait for the outcome. */
  readonly isUnderWay: boolean;

  constructor(message: string, url: string, isUnderWay: boolean) {
    super(message);
    this.url = url;
    this.isUnderWay = isUnderWay;
  }

  /** The data of a request's error, in the revisions with sessions. */
  elicitations(): Readonly<Record<string, unknown>> {
    const { url, message } = this;
    return { elicitations: [{ mode: 'url', elicitationId: randomUUID(), url, message }] };
  }
}
