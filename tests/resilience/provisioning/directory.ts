/** The users and groups of an organization as its identity provider knows them, before and after a day of changes. */

export interface DirectoryUser {
  readonly userName: string;
  readonly externalId: string;
  readonly displayName: string;
  readonly familyName: string;
  readonly active: boolean;
}

export interface DirectoryGroup {
  readonly displayName: string;
  /** Their user names. */
  readonly members: readonly string[];
}

export interface Directory {
  readonly users: readonly DirectoryUser[];
  readonly groups: readonly DirectoryGroup[];
}

/** Groups that each user is in, if there are as many. */
const GROUPS_OF_A_USER = 5;

/** The same for the same sizes. */
export function createDirectory(users: number, groups: number): Directory {
  const members = Array.from({ length: groups }, (): string[] => []);
  for (let user = 0; user < users; user += 1) {
    for (let n = 0; n < Math.min(GROUPS_OF_A_USER, groups); n += 1)
      members[(user + n * Math.ceil(groups / GROUPS_OF_A_USER)) % groups]?.push(userNameOf(user));
  }
  return {
    users: Array.from({ length: users }, (_, index) => ({
      userName: userNameOf(index),
      externalId: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      displayName: `User ${index}`,
      familyName: `Family ${index}`,
      active: true,
    })),
    groups: members.map((names, index) => ({
      displayName: `Group ${index}`,
      members: [...new Set(names)],
    })),
  };
}

const userNameOf = (index: number) => `user${index}@acme.example`;

/** Every tenth user has another name, every fiftieth is inactive, and every group lost its first member and has another one. */
export function changeDirectory({ users, groups }: Directory): Directory {
  return {
    users: users.map((user, index) => ({
      ...user,
      ...(index % 10 === 0 && { displayName: `Renamed ${index}`, familyName: `Changed ${index}` }),
      ...(index % 50 === 0 && { active: false }),
    })),
    groups: groups.map(({ displayName, members }, index) => {
      const [, ...others] = members;
      const joined = users[(index * 7 + 3) % users.length]?.userName ?? '';
      return { displayName, members: [...new Set([...others, joined])] };
    }),
  };
}
