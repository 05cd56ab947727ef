/** What Activity says of events, in plain words. */
import { describe, expect, it } from 'vitest';
import { describeEvent } from '../../../src/console/activity/describe-event.ts';
import { allEventTypes } from '../../../src/operations/event-types.ts';
import { eventOf } from './events.ts';

const names = {
  users: new Map([
    ['user_ada', 'ada@example.com'],
    ['user_bob', 'bob@example.com'],
  ]),
  apps: new Map([['notes', 'Notes']]),
};
/** The sentence as plain text. */
const textOf = ({ pieces }: ReturnType<typeof describeEvent>) =>
  pieces
    .map((piece) => (typeof piece === 'string' ? piece : 'code' in piece ? piece.code : piece.name))
    .join('');
const say = (...about: Parameters<typeof eventOf>) => {
  const words = describeEvent(eventOf(...about), names);
  return [textOf(words), words.tone];
};
const call = (details: object) =>
  say('call.finished', 0, { details: { server: '/files', tool: 'delete_page', ...details } });

describe('an event in plain words', () => {
  it.each([
    [say('login.succeeded'), 'ada@example.com signed in', 'plain'],
    [say('consent.denied'), 'ada@example.com denied Notes access', 'refused'],
    [say('login.failed', 0, { accountId: null }), 'A sign-in of a user failed', 'refused'],
    [say('client.registered', 0, { clientId: 'other' }), 'other registered itself', 'changed'],
    [
      call({ decision: 'allowed', outcome: 'answered' }),
      'Notes called delete_page of /files for ada@example.com',
      'plain',
    ],
    [
      say('call.finished', 0, {
        accountId: null,
        details: { server: '/files', tool: 'list', decision: 'allowed' },
      }),
      'Notes called list of /files',
      'plain',
    ],
    [say('token.issued', 0, { accountId: null }), 'Notes got its first token', 'plain'],
    [
      call({ decision: 'allowed', outcome: 'timeout' }),
      'Notes called delete_page of /files for ada@example.com, which did not respond in time',
      'refused',
    ],
    [
      call({ decision: 'denied', reason: 'group editors is missing' }),
      'Notes was refused delete_page for ada@example.com: group editors is missing',
      'refused',
    ],
    [
      call({ decision: 'of another version' }),
      'Notes was refused delete_page for ada@example.com',
      'refused',
    ],
    [
      say('account.profile_changed', 0, { details: { groups: ['platform', 'leads'], previousGroups: [] } }),
      'The groups of ada@example.com changed from none to platform, leads',
      'changed',
    ],
    [
      say('account.role_changed', 0, { details: { role: 'operator', previousRole: null } }),
      'ada@example.com became an operator',
      'changed',
    ],
    [
      say('account.role_changed', 0, { details: { role: null, previousRole: 'viewer' } }),
      'ada@example.com lost the role viewer',
      'changed',
    ],
    [
      call({ decision: 'approval_required' }),
      'Notes may call delete_page for ada@example.com once it is approved',
      'plain',
    ],
    [
      say('request.rejected', 0, {
        clientId: null,
        details: { endpoint: '/setup', error: 'already-set-up', reason: 'already-set-up' },
      }),
      'A request was refused at /setup with already-set-up',
      'refused',
    ],
    [
      say('account.profile_changed', 0, { details: { groups: ['leads'], previousGroups: ['leads'] } }),
      'The name of ada@example.com was changed',
      'changed',
    ],
    [
      say('request.rejected', 0, {
        clientId: null,
        details: { endpoint: '/token', error: 'invalid_grant', reason: 'the code has expired' },
      }),
      'A request was refused at /token with invalid_grant: the code has expired',
      'refused',
    ],
    [
      say('approval.granted', 0, { details: { tool: 'pay', decidedBy: 'user_bob' } }),
      'bob@example.com approved the call of pay by Notes for ada@example.com',
      'plain',
    ],
    [
      say('admin.changed', 0, {
        details: { operation: 'users.disable', target: 'user_bob', reason: 'left' },
      }),
      'ada@example.com changed users.disable of user_bob: left',
      'changed',
    ],
    [say('of.another_version'), 'Of another version', 'plain'],
  ])('%s', (said, sentence, tone) => {
    expect(said).toEqual([sentence, tone]);
  });

  it.each(allEventTypes)('says something of %s, without a name that is missing', (type) => {
    const sentence = textOf(describeEvent(eventOf(type, 0, { clientId: null, accountId: null }), names));
    expect(sentence).toContain(' ');
    expect(sentence).not.toMatch(/[{}]|undefined|null/);
  });
});
