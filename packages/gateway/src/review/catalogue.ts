/** The catalogue: the tools of a backend as a credential sees them, and which of them are approved. */
import type { ToolHints } from '../policy/policy.ts';
import type { OwnedRequest } from '../servers/request.ts';
import type { ToolDefinition } from './tool-definition.ts';

/** Approved: its hash is the pinned one. `changed` and `new` wait for approval; `rejected` was refused by an operator. */
export type ToolState = 'approved' | 'changed' | 'new' | 'rejected';

/** A tool of a catalogue, without its definition. */
export interface CataloguedTool {
  /** Base64url SHA-256 of what is pinned. */
  readonly hash: string;
  readonly state: ToolState;
  readonly hints: ToolHints;
}

/** Immutable. Keys are exact names. */
export type ToolCatalogue = ReadonlyMap<string, CataloguedTool>;

/** Lists all pages of a backend's tools. @throws BackendError */
export type ListTools = (request: OwnedRequest) => Promise<readonly ToolDefinition[]>;

/** The tools of a server as one credential sees them, cached and compared with their pins. */
export interface Catalogue {
  /**
   * The tools of the request's server; immediately when cached. One request to the backend at a time for each
   * server and credential, and a bounded number for all.
   * @param credentialKey what the catalogue may be shared by
   * @throws BackendError when the backend does not respond
   */
  tools(request: OwnedRequest, credentialKey: string): ToolCatalogue | Promise<ToolCatalogue>;
  /** The backend announced `notifications/tools/list_changed`, was restarted, or listed something else. */
  changed(server: Pick<OwnedRequest['server'], 'path'>): void;
}
