/** Groups many permissions by what they allow, with one switch for each group. Pure. */
import { intersectScopes, missingScopes, type Scopes } from '@portcullis/protocol';
import type { ScopeAccess } from '../ui/marks.ts';
import { isDestructive } from './scope-access.ts';

/** From this number of permissions on, they are grouped. */
const GROUPED_FROM = 6;

/** In the order of the page: from the least to the greatest risk. */
const PERMISSION_GROUPS = ['read', 'change', 'destroy'] as const;

type PermissionGroup = (typeof PERMISSION_GROUPS)[number];

/** What grouping needs to know of a permission. */
interface Groupable {
  readonly scope: string;
  readonly access: ScopeAccess | 'other';
  readonly isExtra: boolean;
  readonly isOptional: boolean;
}

/** Permissions of one kind, at least one. */
export interface GroupedPermissions<Permission extends Groupable> {
  readonly group: PermissionGroup;
  readonly permissions: readonly Permission[];
  /** Whether the user may switch off all of it that is optional. */
  readonly hasSwitch: boolean;
}

/** The groups that the page shows; `null`: so few permissions that each is shown. Permissions that were not requested have no group. */
export function groupPermissions<Permission extends Groupable>(
  requested: readonly Permission[],
): readonly GroupedPermissions<Permission>[] | null {
  const asked = requested.filter(({ isExtra }) => !isExtra);
  if (asked.length < GROUPED_FROM) return null;
  const groups = Map.groupBy(asked, ({ access }) => groupOf(access));
  return PERMISSION_GROUPS.flatMap((group) => {
    const permissions = groups.get(group) ?? [];
    const hasSwitch = permissions.some(({ isOptional }) => isOptional);
    return permissions.length === 0 ? [] : [{ group, permissions, hasSwitch }];
  });
}

/** A permission of an unknown kind may change something. */
function groupOf(access: ScopeAccess | 'other'): PermissionGroup {
  if (access === 'read') return 'read';
  return isDestructive(access) ? 'destroy' : 'change';
}

/** The switches of a form that are on. */
interface SwitchedOn {
  readonly scopes: Scopes;
  readonly groups: readonly string[];
}

/**
 * The scopes that are on: a switch counts only while the switch of its group is on, as the page shows it.
 * @returns `null` when the form has the switch of a group that the page does not have
 */
export function chosenScopes(requested: readonly Groupable[], { scopes, groups }: SwitchedOn): Scopes | null {
  const shown = (groupPermissions(requested) ?? []).filter(({ hasSwitch }) => hasSwitch);
  const names = shown.map(({ group }) => group);
  if (missingScopes(groups, names).length > 0) return null;
  const off = shown
    .filter(({ group }) => !groups.includes(group))
    .flatMap(({ permissions }) => permissions.filter(({ isOptional }) => isOptional))
    .map(({ scope }) => scope);
  return intersectScopes(scopes, missingScopes(scopes, off));
}
