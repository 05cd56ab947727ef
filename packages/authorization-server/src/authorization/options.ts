/** The option of authorization requests: which workspaces a grant can be bound to. */
import { callback, option } from '../option-schema/fields.ts';

/** A part of a protected server that a grant can be bound to: a team, a project, a customer. */
export interface Workspace {
  /** The claim `workspace` of tokens. */
  readonly id: string;
  /** Shown to users. */
  readonly name: string;
}

/**
 * Lists the workspaces that a user can pick for a resource on the consent page; empty for no choice.
 * When it rejects, the user is asked to try again later.
 */
export type FindWorkspaces = (accountId: string, resource: string) => Promise<readonly Workspace[]>;

export const authorizationOptions = {
  workspaces: option(() => callback<FindWorkspaces>(), {
    section: 'Protected servers',
    description:
      'module that lists the workspaces a user can pick on the consent page; exports findWorkspaces',
    defaultText: 'no workspaces',
  }),
};

/** The option of authorization requests, with its default. */
export interface AuthorizationOptions {
  readonly workspaces: FindWorkspaces;
}
