/** The store port of definition pins: which definitions of a server behind a gateway an operator has approved. */

/** What a pinned definition describes. */
type DefinitionKind = 'tool';

/** Definitions of one kind, as one backend lists them. */
export interface DefinitionList {
  /** Path of the server. */
  readonly server: string;
  /** Address of its backend: another backend has pins of its own. */
  readonly backend: string;
  readonly kind: DefinitionKind;
}

/** A definition as a backend listed it. */
export interface ListedDefinition {
  /** Its exact name. */
  readonly name: string;
  /** Base64url SHA-256 of the definition. */
  readonly hash: string;
  /** Canonical JSON. */
  readonly definition: string;
}

/** A whole definition in place of a pin of its members. */
export interface WholeDefinition extends ListedDefinition {
  /** Base64url SHA-256 of the members that were pinned before. */
  readonly membersHash: string;
}

/**
 * A definition that was approved or rejected, or that waits for approval. Several definitions of one name may be approved: backends
 * show different ones to different clients.
 */
export interface DefinitionPinRecord extends Pick<ListedDefinition, 'name' | 'hash'> {
  readonly status: 'approved' | 'pending' | 'rejected';
  /** `null` for a rejected one. */
  readonly definition: string | null;
  /** What the hash is of. `members`, of pins up to version 0.1: name, title, description, schemas and annotations only. */
  readonly covers: 'members' | 'whole';
  /** Epoch seconds. */
  readonly changedAt: number;
}

/** A definition that waits for approval. */
export interface PendingDefinitionRecord extends DefinitionList, ListedDefinition {
  /** The definition of this name that was approved last; `null`: none. */
  readonly approvedDefinition: string | null;
  /** Epoch seconds. */
  readonly changedAt: number;
}

/** Store capability for approved definitions of MCP servers. */
export interface DefinitionPinStore {
  /** All pins of a list, by name. */
  findPins(list: DefinitionList): Promise<readonly DefinitionPinRecord[]>;
  /**
   * Definitions that wait for approval, at most `limit`, by server and name.
   * @param of one server, or one tool of it; all by default
   */
  listPendingPins(
    limit: number,
    of?: { readonly server: string; readonly name?: string },
  ): Promise<readonly PendingDefinitionRecord[]>;
  /** How many definitions of each server wait for approval. Servers without any are left out. */
  countPendingPins(): Promise<ReadonlyMap<string, number>>;
  /**
   * Approves the first definitions of a list. Atomic: of several processes one succeeds.
   * @returns `false` when the list has pins already: nothing has changed then
   */
  saveFirstPins(list: DefinitionList, definitions: readonly ListedDefinition[], at: number): Promise<boolean>;
  /**
   * Records a definition that waits for approval. If more than a few of its name wait, it replaces the oldest. Atomic.
   * @returns `false` when there is a pin of it, of whatever status: nothing has changed then
   */
  savePendingPin(list: DefinitionList, definition: ListedDefinition, at: number): Promise<boolean>;
  /**
   * Approves or rejects the definition with this hash, if it still waits for approval. Others of its name that are approved stay
   * so. @returns whether it was
   */
  decidePendingPin(
    decision: 'approve' | 'reject',
    list: DefinitionList,
    pending: Pick<ListedDefinition, 'name' | 'hash'>,
    at: number,
  ): Promise<boolean>;
  /** Replaces pins that cover members by pins of whole definitions with the same status. Those without such a pin are ignored. Atomic. */
  replaceMemberPins(list: DefinitionList, definitions: readonly WholeDefinition[]): Promise<void>;
}
