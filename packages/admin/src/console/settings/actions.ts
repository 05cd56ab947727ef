/** What an operator can change in the settings: signing keys and initial access tokens. */
import { html } from '@portcullis/authorization-server/pages';
import { found, OperationError } from '../../operations/errors.ts';
import {
  createInitialAccessToken,
  revokeInitialAccessToken,
} from '../../operations/initial-access-tokens.ts';
import { rotateKey } from '../../operations/keys.ts';
import { searchList } from '../../operations/search-lists.ts';
import { removeEventStream } from '../../operations/streams.ts';
import { defineAction } from '../action.ts';
import { doneAt } from '../done.ts';
import { links } from '../links.ts';
import type { ConsoleRoute } from '../page.ts';
import { copyText, field, time } from '../ui/parts.ts';

const REPLACEMENTS = [
  ['in-time', 'In time: it is published first, and signs later. Nothing is interrupted.'],
  ['at-once', 'At once: it signs now. A server that caches keys may refuse tokens for a few minutes.'],
  ['compromised', 'Compromised: all other keys are revoked as well. Every access token ends.'],
] as const;

const rotateRoutes = defineAction({
  path: `${links.settings}/rotate-key`,
  fields: ['replacement'],
  describe: async ({ form }) => ({
    title: 'Rotate the signing key',
    effects: ['Creates a new key that signs access tokens. It cannot be undone.'],
    button: 'Rotate the key',
    isDangerous: true,
    fields: field({
      name: 'replacement',
      label: 'How',
      choices: REPLACEMENTS,
      value: form['replacement'] ?? 'in-time',
    }),
  }),
  async perform(request) {
    const given = REPLACEMENTS.find(([value]) => value === request.form['replacement']);
    if (given === undefined) throw new OperationError('invalid', 'Choose how the key is replaced.');
    await rotateKey(request, given[0]);
    return doneAt(links.settings, 'rotated');
  },
});

const DAY = 86_400;
const LIFETIMES = [
  ['1', 'A day'],
  ['7', 'A week'],
  ['30', '30 days'],
] as const;

const createRoutes = defineAction({
  path: `${links.settings}/create-token`,
  fields: ['note', 'days'],
  describe: async ({ form }) => ({
    title: 'Create an initial access token',
    effects: ['Lets one app register itself, once.'],
    button: 'Create the token',
    fields: html`${field({ name: 'note', label: 'Note', hint: 'For whom it is. Only operators and viewers see it.', maxLength: 200, value: form['note'] ?? '' })}
${field({ name: 'days', label: 'Works for', choices: LIFETIMES, value: form['days'] ?? '7' })}`,
  }),
  async perform(request) {
    const { note = '', days } = request.form;
    const given = LIFETIMES.find(([value]) => value === days);
    if (given === undefined || note.length > 200)
      throw new OperationError('invalid', 'Choose how long the token works.');
    const { token, expiresAt } = await createInitialAccessToken(request, {
      note,
      seconds: Number(days) * DAY,
    });
    return {
      title: 'The initial access token',
      body: html`<p>It is shown once, and expires ${time(expiresAt, request.admin.clock())}. The app sends it as a bearer token when it registers.</p>
${copyText(token)}`,
    };
  },
});

const revokeRoutes = defineAction({
  path: `${links.settings}/tokens/{tokenId}/revoke`,
  async describe({ admin, params }) {
    const id = params['tokenId'] ?? '';
    const { list } = admin.initialAccessTokens;
    const { items } = await searchList(
      list,
      (one) => one.id,
      (one) => one.id === id,
      '',
      1,
    );
    const { note } = found(items[0], `initial access token ${id}`);
    return {
      title: note === '' ? 'Revoke the initial access token' : `Revoke the token for ${note}`,
      effects: ['No app can register with it any more.'],
      button: 'Revoke the token',
      isDangerous: true,
    };
  },
  async perform(request) {
    await revokeInitialAccessToken(request, request.params['tokenId'] ?? '');
    return doneAt(links.settings, 'revoked');
  },
});

const streamRoutes = defineAction({
  path: `${links.settings}/streams/{streamId}/remove`,
  async describe({ admin, params }) {
    const id = params['streamId'] ?? '';
    const { clientId } = found(await admin.store.findEventStream(id), `event stream ${id}`);
    return {
      title: `Remove the event stream of ${clientId}`,
      effects: [
        'The receiver learns of no ended access any more, and of nothing that is still queued.',
        'It may create another one while the setting sharedSignals names it.',
      ],
      button: 'Remove the stream',
      isDangerous: true,
    };
  },
  async perform(request) {
    await removeEventStream(request, request.params['streamId'] ?? '');
    return doneAt(links.settings, 'stream-removed');
  },
});

export const settingsActions: readonly ConsoleRoute[] = [
  ...rotateRoutes,
  ...createRoutes,
  ...revokeRoutes,
  ...streamRoutes,
];
