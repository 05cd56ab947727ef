/** What scopes allow: as the operator marked them, or as their names suggest. Pure. */
import { impliedScopes } from '@portcullis/protocol';
import type { ResourceDefinition } from '../resources/options.ts';
import { SCOPE_ACCESS, type ScopeAccess } from '../ui/marks.ts';

/** The first that matches counts: what is `readonly` by name, then from the greatest risk to the least. */
const WORDS: readonly (readonly [ScopeAccess, string])[] = [
  ['read', 'readonly'],
  ['administer', 'admin administer administration manage owner impersonate root'],
  ['delete', 'delete remove destroy purge erase wipe drop trash'],
  [
    'write',
    'write add append change create draw edit import modify post publish put save send share submit update upload',
  ],
  ['read', 'read list view see get search find export download openid profile email'],
];

export interface DescribedAccess {
  /** `other`: neither marked nor evident from the name. */
  readonly access: ScopeAccess | 'other';
  /** Whether the consent page offers it switched off: it, or a scope that it implies, is destructive. */
  readonly isOffByDefault: boolean;
}

/** What a scope allows, together with the scopes that it implies: the greatest risk counts. */
export function describeAccess(
  scope: string,
  { access: marked = {}, hierarchy = {} }: Pick<ResourceDefinition, 'access' | 'hierarchy'>,
): DescribedAccess {
  const scopes = [scope, ...impliedScopes([scope], hierarchy)];
  const kinds = scopes.map((one) => (Object.hasOwn(marked, one) ? marked[one] : accessByName(one)));
  const access = SCOPE_ACCESS.findLast((kind) => kinds.includes(kind)) ?? 'other';
  return { access, isOffByDefault: isDestructive(access) };
}

/** Whether a kind of access can do harm that is hard to undo. */
export function isDestructive(access: ScopeAccess | 'other'): boolean {
  return access === 'delete' || access === 'administer';
}

/** The words of `notes:read`, `drive.readonly` and `deleteNotes`. */
function accessByName(scope: string): ScopeAccess | undefined {
  const words = (scope.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? []).map((word) => word.toLowerCase());
  return WORDS.find(([, known]) => known.split(' ').some((one) => words.includes(one)))?.[0];
}
