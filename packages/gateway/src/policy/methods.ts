/** The methods that a backend may know, and those that it may take for one of them. */
import { toNfkc } from '@portcullis/protocol';

/** The methods of all revisions of MCP that a client may send. */
const METHODS: ReadonlySet<string> = new Set([
  '',
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'subscriptions/listen',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
  'notifications/tasks/status',
]);

/** A response has no method: the empty one. */
export function isKnownMethod(method: string): boolean {
  return METHODS.has(method);
}

/** Whether a lenient backend may take an unknown method for a known one: by case, spaces, separators, or characters that look alike. */
export function resemblesKnownMethod(method: string): boolean {
  if (METHODS.has(method)) return false;
  const folded = fold(method);
  return [...METHODS].some((known) => known !== '' && fold(known) === folded);
}

function fold(method: string): string {
  return toNfkc(method)
    .toLowerCase()
    .replace(/[^a-z]/g, '');
}
