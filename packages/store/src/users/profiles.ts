/** User profiles: the source of claims in access tokens. */
import type { UserProfile, UserStore } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { readJson } from '../json.ts';
import { defineQuery, sql } from '../sql.ts';

/** One row for each provisioned group, one without it if there is none. */
const profileOf = defineQuery(
  `SELECT p.email, p.name, p.user_groups AS groups, g.name AS provisioned FROM accounts a
    LEFT JOIN user_profiles p ON p.account_id = a.id
    LEFT JOIN scim_resources u ON u.account_id = a.id AND u.is_active = 1
    LEFT JOIN scim_keys k ON k.identity_provider = u.identity_provider AND k.kind = 'Group' AND k.attribute = 'members'
      AND k.value = u.id
    LEFT JOIN scim_resources g ON g.id = k.id
    WHERE a.id = ?`,
);

const groupsPage = defineQuery(
  'SELECT account_id AS "accountId", user_groups AS groups FROM user_profiles WHERE account_id > ? ORDER BY account_id LIMIT ?',
);

interface ProfileRow {
  readonly email: string | null;
  readonly name: string | null;
  /** JSON; `null`: no profile was saved. */
  readonly groups: string | null;
  readonly provisioned: string | null;
}

export type ProfileOperations = Pick<UserStore, 'findProfile' | 'saveProfile' | 'listProfileGroups'>;

export function createProfileOperations(database: Database): ProfileOperations {
  return {
    async findProfile(accountId) {
      const rows = await database.read<ProfileRow>(profileOf(accountId));
      const [row] = rows;
      if (row === undefined || (row.groups === null && row.provisioned === null)) return null;
      const { email, name } = row;
      const groups = row.groups === null ? [] : readJson<readonly string[]>(row.groups);
      if (row.provisioned === null) return { email, name, groups };
      const provisionedGroups = new Set(rows.flatMap(({ provisioned }) => provisioned ?? []));
      return { email, name, groups, provisionedGroups: [...provisionedGroups].toSorted() };
    },
    async listProfileGroups(after, limit) {
      const rows = await database.read<{ readonly accountId: string; readonly groups: string }>(
        groupsPage(after, limit),
      );
      return rows.map(({ accountId, groups }) => ({
        accountId,
        groups: readJson<readonly string[]>(groups),
      }));
    },
    saveProfile: (accountId, { email, name, groups }: UserProfile) =>
      database.changes(sql`INSERT INTO user_profiles (account_id, email, name, user_groups)
        SELECT id, ${email}, ${name}, ${JSON.stringify(groups)} FROM accounts WHERE id = ${accountId}
        ON CONFLICT (account_id) DO UPDATE SET email = excluded.email, name = excluded.name, user_groups = excluded.user_groups
        RETURNING 1 AS one`),
  };
}
