/** The protected application: what `portcullis up` puts its guard in front of. */
import type { ResourceDefinition } from '@portcullis/authorization-server';
import type { ScopeHierarchy, Scopes } from '@portcullis/protocol';
import type { McpOperation, Principal } from '@portcullis/resource-server';
import type { UpstreamTokenSource } from '@portcullis/resource-server/upstream';
import { SettingsError } from '../errors.ts';
import { loadExport } from '../settings/modules.ts';
import type { Log } from './log.ts';

/** What the module named by `--app` exports as `app`. */
export interface ProtectedApplication {
  /** What people call it, on the consent page too. */
  readonly name: string;
  /** Where it stands, such as `/mcp`: with the public URL it makes the resource that tokens are issued for. */
  readonly path: string;
  /** Each scope with the sentence that a person reads before allowing it. */
  readonly scopes: Readonly<Record<string, string>>;
  /** Its name and those sentences in other languages: `{ de: { name, scopes } }`. */
  readonly translations?: NonNullable<ResourceDefinition['translations']>;
  /** What a client gets that asks for none; all scopes when left out. */
  readonly defaultScopes?: Scopes;
  /** Those that a person may not leave out. Any other may be switched off, as long as one remains. None when left out. */
  readonly requiredScopes?: Scopes;
  /** Scopes that include others. */
  readonly hierarchy?: ScopeHierarchy;
  /** The scopes that one operation needs; none when left out, so that any valid token will do. */
  scopesFor?(operation: McpOperation): Scopes;
  /** Starts it. Called once. */
  create(context: ApplicationContext): Promise<RunningApplication>;
}

/** What an application gets to start with. */
export interface ApplicationContext {
  /** An existing folder for what it keeps; `null` when nothing is to be kept. */
  readonly dataFolder: string | null;
  readonly log: Log;
  /** The tokens with which it acts at third parties for the people that it serves. */
  readonly upstream: UpstreamTokenSource;
}

/** An application that was started. */
export interface RunningApplication {
  /** Answers a request that the guard has admitted. The token is not in it. */
  handle(request: Request, principal: Principal): Promise<Response>;
  /** Ends it. No request is under way then. */
  close(): Promise<void>;
}

/**
 * Loads the application of a module.
 * @param title of the setting that names it
 * @param folder what a relative path starts from
 * @throws SettingsError naming the setting
 */
export async function loadApplication(
  file: string,
  folder: string,
  title: string,
): Promise<ProtectedApplication> {
  const app = await loadExport(title, file, folder, 'app');
  const issues = judge(app);
  if (issues.length > 0) throw new SettingsError(issues.map((what) => `${title} is ${file}, which ${what}`));
  return app as ProtectedApplication;
}

function judge(app: unknown): readonly string[] {
  if (typeof app !== 'object' || app === null) return ['must export app'];
  const { name, path, scopes, create } = app as Readonly<Record<string, unknown>>;
  return [
    ...(typeof name === 'string' && name !== '' ? [] : ['must say app.name']),
    ...(typeof path === 'string' && /^(?:\/[\w.~-]+)+$/.test(path)
      ? []
      : ['must say app.path, such as /mcp']),
    ...(typeof scopes === 'object' && scopes !== null ? [] : ['must list app.scopes']),
    ...(typeof create === 'function' ? [] : ['must have app.create']),
  ];
}
