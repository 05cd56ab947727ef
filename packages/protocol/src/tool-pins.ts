/** The store port of tool pins: which definitions of tools an operator has approved for a server behind a gateway. */

/** A tool of a server. Definitions are canonical JSON, hashes base64url SHA-256 of it. */
export interface ToolPinRecord {
  /** Path and address of the server. */
  readonly server: string;
  /** Its exact name. */
  readonly tool: string;
  /** `null`: no definition of it was approved yet. */
  readonly approvedHash: string | null;
  readonly approvedDefinition: string | null;
  /** `null`: nothing waits for approval. */
  readonly pendingHash: string | null;
  readonly pendingDefinition: string | null;
  readonly rejectedHash: string | null;
  /** Epoch seconds. */
  readonly changedAt: number;
}

/** A definition as a backend listed it. */
export interface ListedToolRecord {
  readonly server: string;
  readonly tool: string;
  readonly hash: string;
  readonly definition: string;
}

/** Store capability for approved tool definitions of MCP servers. */
export interface ToolPinStore {
  /** All tools of a server. */
  findToolPins(server: string): Promise<readonly ToolPinRecord[]>;
  /** Tools of all servers with a definition that waits for approval, at most `limit`, by server and name. */
  listPendingTools(limit: number): Promise<readonly ToolPinRecord[]>;
  /**
   * Approves the first tools of a server. Atomic: of several processes one succeeds.
   * @returns `false` when the server has pins already: nothing has changed then
   */
  saveFirstToolPins(
    server: string,
    tools: readonly Omit<ListedToolRecord, 'server'>[],
    at: number,
  ): Promise<boolean>;
  /**
   * Records a definition that waits for approval, in place of an earlier one.
   * @returns `false` when it waits already, or is the approved or rejected one
   */
  savePendingTool(listed: ListedToolRecord, at: number): Promise<boolean>;
  /**
   * Approves or rejects the definition that waits for it, if it still is the one with this hash. A rejected tool keeps the
   * definition that was approved before, if any. @returns whether it was
   */
  decidePendingTool(
    decision: 'approve' | 'reject',
    pending: Pick<ListedToolRecord, 'server' | 'tool' | 'hash'>,
    at: number,
  ): Promise<boolean>;
}
