/** The audit event of a change. */

/** A change through the API or the MCP server. */
export interface ChangeEvent {
  readonly type: 'admin.changed';
  /** `users.disable` */
  readonly operation: string;
  /** The identifier of what was changed. */
  readonly target: string;
  /** What it was, as far as it has changed. */
  readonly before: unknown;
  readonly after: unknown;
  /** As the operator gave it. */
  readonly reason: string | null;
  readonly accountId?: string;
  readonly clientId: string;
  readonly grantId?: string;
}
