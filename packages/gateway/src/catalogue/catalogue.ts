/** The catalogue: the tools that a backend offers to a credential, and which of their definitions are approved. */
import type { ToolAnnotations } from '@portcullis/policy';
import type { OwnedRequest } from '../servers/request.ts';
import type { ToolDefinition } from './tool-definition.ts';

/** Approved: its hash is the pinned one. `changed` and `new` wait for approval; `rejected` was refused by an operator. */
export type ToolState = 'approved' | 'changed' | 'new' | 'rejected';

/** A tool of a catalogue, without its definition. */
export interface CataloguedTool {
  readonly state: ToolState;
  readonly hints: ToolAnnotations;
}

/** The tools of one list whose definitions are approved, by name. */
export type ReviewedList = ReadonlySet<string>;

/** Immutable. Keys are exact names. */
export type ToolCatalogue = ReadonlyMap<string, CataloguedTool>;

/** `every` revision that the backend speaks, or the newest of each transport. */
export type ListedRevisions = 'every' | 'newest';

/** Lists all pages of a backend's tools, a list for each revision. @throws BackendError */
export type ListTools = (
  request: OwnedRequest,
  revisions: ListedRevisions,
) => Promise<readonly (readonly ToolDefinition[])[]>;

/** The tools of a server as one credential sees them, cached and compared with their pins. */
export interface Catalogue {
  /**
   * The tools of the request's server that may be called: those that the gateway's own list has, and those of which a definition was
   * approved; what a backend lists depends on the capabilities and the revision of the client. Immediately when cached. One request
   * to the backend at a time for each server and credential, and a bounded number for all.
   * @param credentialKey what the catalogue may be shared by
   * @throws BackendError when the backend does not respond
   */
  tools(request: OwnedRequest, credentialKey: string): ToolCatalogue | Promise<ToolCatalogue>;
  /**
   * The tools of a list on its way to a client, as far as their definitions are approved. Others wait for approval from then on.
   * @param listed elements of a list; what is no definition, or shares its name with another, is not in the result
   * @throws BackendError when nothing is pinned and the backend does not respond
   */
  review(
    request: OwnedRequest,
    credentialKey: string,
    listed: readonly unknown[],
  ): ReviewedList | Promise<ReviewedList>;
  /** The backend announced `notifications/tools/list_changed`, was restarted, or listed something else. */
  changed(server: Pick<OwnedRequest['server'], 'path'>): void;
}
