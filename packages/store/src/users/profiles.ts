/** User profiles: the source of claims in access tokens. */
import type { UserProfile, UserStore } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { readJson } from '../json.ts';
import { defineQuery, sql } from '../sql.ts';

const profileOf = defineQuery(
  'SELECT email, name, user_groups AS groups FROM user_profiles WHERE account_id = ?',
);

interface ProfileRow {
  readonly email: string | null;
  readonly name: string | null;
  readonly groups: string;
}

export type ProfileOperations = Pick<UserStore, 'findProfile' | 'saveProfile'>;

export function createProfileOperations(database: Database): ProfileOperations {
  return {
    async findProfile(accountId) {
      const [row] = await database.read<ProfileRow>(profileOf(accountId));
      if (row === undefined) return null;
      return { email: row.email, name: row.name, groups: readJson<readonly string[]>(row.groups) };
    },
    async saveProfile(accountId, { email, name, groups }: UserProfile) {
      const saved = await database.write(sql`INSERT INTO user_profiles (account_id, email, name, user_groups)
        SELECT id, ${email}, ${name}, ${JSON.stringify(groups)} FROM accounts WHERE id = ${accountId}
        ON CONFLICT (account_id) DO UPDATE SET email = excluded.email, name = excluded.name, user_groups = excluded.user_groups
        RETURNING 1 AS one`);
      return saved.length > 0;
    },
  };
}
