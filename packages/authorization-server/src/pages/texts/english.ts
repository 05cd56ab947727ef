/** What the pages say in English. A name in braces is a place where the page puts something in. */

export const english = {
  'language.name': 'English',

  'consent.title': 'Allow {app}?',
  'consent.heading': '{app} wants to use {server}',
  'consent.heading-more': '{app} wants to do more with {server}',
  'consent.by-operator': 'This app was set up by the people who run {operator}.',
  'consent.by-nobody': 'This app has not been verified. It chose its name itself.',
  'consent.by-host': 'This app is published at {host}. It chose its name itself.',
  'consent.signed-in': 'Signed in as {email}',
  'consent.not-you': 'not you?',
  'consent.powers': 'On {place} it will be able to',
  'consent.in-your-name': 'Use it in your name',
  'consent.new': 'new',
  'consent.includes': 'Includes: {sentences}',
  'consent.keeps': 'It keeps what you allowed before: {sentences}.',
  'consent.known': 'You have allowed this before.',
  'consent.choose': 'Switch off what you do not want to allow.',
  'consent.workspace': 'Workspace',
  'consent.choose-workspace': 'Choose a workspace',
  'consent.in-workspace': 'In the workspace {workspace}',
  'consent.other-workspace': 'choose another',
  'consent.wrong.nothing': 'Leave at least one switched on, or choose Cancel.',
  'consent.wrong.no-workspace': 'Choose the workspace that the app may use.',
  'consent.warn-here':
    'Any program on this computer could pretend to be this app. Continue only if you have just started it yourself.',
  'consent.warn-elsewhere':
    'This app is published at {host}, but sends you to {place}. Continue only if you know why.',
  'consent.return.https': 'You will return to {place}',
  'consent.return.loopback': 'You will return to {place} on this computer',
  'consent.return.private-use': 'You will return to the app on this device that opens {place} links',
  'consent.deny': 'Cancel',
  'consent.allow': 'Allow access',
} as const;
