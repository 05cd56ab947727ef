/** What can go wrong before the eyes of a person, in words for that person. */

export type Situation =
  | 'unknown-app'
  | 'bad-request'
  | 'no-flow'
  | 'gone'
  | 'other-browser'
  | 'no-cookie'
  | 'stale-form'
  | 'bad-form'
  | 'spent-link'
  | 'busy'
  | 'failed';

/** What happened, and whose move it is. */
export interface Words {
  /** The HTTP status, where no error says another. */
  readonly status: number;
  readonly heading: string;
  readonly sentences: readonly string[];
}

export const situations: Readonly<Record<Situation, Words>> = {
  'unknown-app': {
    status: 400,
    heading: 'This app is not known here',
    sentences: [
      'The app that sent you has not introduced itself to this server, or its registration was removed.',
      'Nothing was shared. In the app, remove this connection and add it again.',
    ],
  },
  'bad-request': {
    status: 400,
    heading: 'This request cannot be used',
    sentences: [
      'The app that sent you made a mistake. Nothing was shared.',
      'You can close this page. The developer of the app has to mend it.',
    ],
  },
  'no-flow': {
    status: 400,
    heading: 'Start from your app',
    sentences: [
      'This page belongs to a request of an app. Connect from the app, and it will bring you here.',
    ],
  },
  gone: {
    status: 400,
    heading: 'This request is no longer open',
    sentences: [
      'It was answered already, or it was left open for too long.',
      'If the app is not connected, go back to it and start again.',
    ],
  },
  'other-browser': {
    status: 403,
    heading: 'This was started in another browser',
    sentences: [
      'To keep you safe, a request can only be finished in the browser where it began.',
      'If you did not start it yourself, close this page. Otherwise go back to the app and start again.',
    ],
  },
  'no-cookie': {
    status: 403,
    heading: 'Your browser did not send our cookie',
    sentences: [
      'Either cookies are switched off for this site, or this request was started in another browser.',
      'Allow cookies for this site, then go back to the app and start again.',
    ],
  },
  'stale-form': {
    status: 403,
    heading: 'Nothing was decided',
    sentences: ['The page that you answered was out of date or did not come from here.'],
  },
  'bad-form': {
    status: 400,
    heading: 'Nothing was decided',
    sentences: ['The answer that arrived was not one that the page offers.'],
  },
  'spent-link': {
    status: 403,
    heading: 'This link does not work any more',
    sentences: [
      'It works once and not for ever. It was used already, has expired, or was not copied whole.',
      'Ask whoever runs this server for a new one.',
    ],
  },
  busy: {
    status: 503,
    heading: 'This server is busy',
    sentences: ['It cannot answer just now. Nothing was changed. Try again in a few seconds.'],
  },
  failed: {
    status: 500,
    heading: 'Something went wrong on our side',
    sentences: [
      'It is not your fault. Try again; if it stays so, tell whoever runs this server the reference below.',
    ],
  },
};
