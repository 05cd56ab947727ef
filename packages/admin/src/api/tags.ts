/** The groups of endpoints in the OpenAPI document, in its order, with what they are about. */
export const TAGS = {
  Users: 'Accounts, with their sessions, second factors and groups',
  Clients: 'Registered, added and configured clients, and tokens with which clients register',
  Grants: 'What users allowed apps',
  Approvals: 'Calls that wait for a decision',
  Servers: 'Servers behind the gateway, and the review of their tools',
  Policy: 'What the rules of servers decide, and why',
  Keys: 'Keys that sign access tokens',
  Installation: 'Settings in effect',
  Events: 'The audit log',
} as const;

export type TagName = keyof typeof TAGS;
