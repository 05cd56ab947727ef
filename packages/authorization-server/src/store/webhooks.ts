/** The delivery of audit events to webhooks. No capability of the authorization server: its administration uses it. */

/** How far the delivery to one webhook is. */
export interface WebhookProgress {
  readonly name: string;
  /** All audit events up to this identifier are delivered, rejected or not for this webhook. */
  readonly cursor: string;
  /** Failed attempts in a row. */
  readonly attempts: number;
  /** Epoch seconds before which no request is sent. */
  readonly nextAttemptAt: number;
  /** Why the last attempt failed; `null`: it succeeded. */
  readonly lastError: string | null;
  /** Epoch seconds of the last successful delivery. */
  readonly deliveredAt: number | null;
}

/** The delivery of audit events to webhooks. */
export interface WebhookStore {
  /**
   * Acquires the lease on a webhook, or renews it for its holder.
   * @param initial the cursor of a webhook without progress
   * @param now epoch seconds, as `until`, when the lease expires
   * @returns `null`: another process holds it
   */
  leaseWebhook(
    name: string,
    holder: string,
    initial: string,
    now: number,
    until: number,
  ): Promise<WebhookProgress | null>;
  /** @returns `false`: the holder has lost its lease, and nothing is saved */
  saveWebhookProgress(progress: WebhookProgress, holder: string): Promise<boolean>;
  releaseWebhook(name: string, holder: string): Promise<void>;
  listWebhooks(): Promise<readonly WebhookProgress[]>;
  /**
   * Delivers the events after `cursor` again, and ends the wait after a failure. Events that are not delivered yet are not skipped: a later
   * `cursor` changes nothing. @returns whether there is such a webhook
   */
  rewindWebhook(name: string, cursor: string): Promise<boolean>;
  /** Continues after `cursor`, and ends the wait after a failure. */
  setWebhookCursor(name: string, cursor: string): Promise<void>;
}
