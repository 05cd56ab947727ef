/** The protected application: the MCP server that `portcullis up` guards. */
import type { ResourceDefinition } from '@portcullis/authorization-server';
import type { ScopeHierarchy, Scopes } from '@portcullis/protocol';
import type { AuthenticationRequirement, McpOperation, Principal } from '@portcullis/resource-server';
import type { UpstreamTokenSource } from '@portcullis/resource-server/upstream';
import { SettingsError } from '../errors.ts';
import { loadExport } from '../settings/modules.ts';
import type { Log } from './log.ts';

/** What the module named by `--app` exports as `app`. */
export interface ProtectedApplication {
  /** Display name, also on the consent page. */
  readonly name: string;
  /** Path, such as `/mcp`: with the public URL it forms the resource that tokens are issued for. */
  readonly path: string;
  /** Scopes, each with the description shown to users on the consent page. */
  readonly scopes: Readonly<Record<string, string>>;
  /** The name and scope descriptions in other languages: `{ de: { name, scopes } }`. */
  readonly translations?: NonNullable<ResourceDefinition['translations']>;
  /** Scopes granted if a client requests none; all scopes by default. */
  readonly defaultScopes?: Scopes;
  /** Scopes that a user cannot deselect on the consent page; none by default. At least one scope must be granted. */
  readonly requiredScopes?: Scopes;
  /** Claims about the user that the principal contains, as the consent page shows; none by default. */
  readonly claims?: NonNullable<ResourceDefinition['claims']>;
  /** Scopes that include others. */
  readonly hierarchy?: ScopeHierarchy;
  /** The scopes required by an operation; none by default, so any valid token suffices. */
  scopesFor?(operation: McpOperation): Scopes;
  /** How recently and how the user must have signed in for an operation; `null`: any. @see RFC 9470 */
  authenticationFor?(operation: McpOperation): AuthenticationRequirement | null;
  /** Starts the application. Called once. */
  create(context: ApplicationContext): Promise<RunningApplication>;
}

/** Start parameters of an application. */
export interface ApplicationContext {
  /** An existing folder for its data; `null` if nothing should be stored. */
  readonly dataFolder: string | null;
  readonly log: Log;
  /** Provider tokens, for acting on behalf of its users at identity providers. */
  readonly upstream: UpstreamTokenSource;
}

/** A started application. */
export interface RunningApplication {
  /** Handles a request that the guard has authorized. The request does not contain the token. */
  handle(request: Request, principal: Principal): Promise<Response>;
  /** Stops the application. Called when no request is in progress. */
  close(): Promise<void>;
}

/**
 * Loads the application exported by a module.
 * @param folder base of a relative path
 * @param title name of the setting
 * @throws SettingsError naming the setting
 */
export async function loadApplication(
  file: string,
  folder: string,
  title: string,
): Promise<ProtectedApplication> {
  const app = await loadExport(title, file, folder, 'app');
  const issues = validateApplication(app);
  if (issues.length > 0)
    throw new SettingsError(issues.map((issue) => `${title} is ${file}, which ${issue}`));
  return app as ProtectedApplication;
}

function validateApplication(app: unknown): readonly string[] {
  if (typeof app !== 'object' || app === null) return ['must export app'];
  const { name, path, scopes, create } = app as Readonly<Record<string, unknown>>;
  return [
    ...(typeof name === 'string' && name !== '' ? [] : ['must set app.name']),
    ...(typeof path === 'string' && /^(?:\/[\w.~-]+)+$/.test(path)
      ? []
      : ['must set app.path, such as /mcp']),
    ...(typeof scopes === 'object' && scopes !== null ? [] : ['must set app.scopes']),
    ...(typeof create === 'function' ? [] : ['must define app.create']),
  ];
}
