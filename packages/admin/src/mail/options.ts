/** The setting `mail`: the mail server, the sender, and which notices are sent. */
import {
  checkedText,
  lazy,
  list,
  type OutputOf,
  optional,
  secret,
  text,
} from '@portcullis/authorization-server/options';
import * as z from 'zod';

const ADDRESS = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~.-]{1,64}@[a-z\d](?:[a-z\d.-]*[a-z\d])?$/iu;

/**
 * Whether mail is sent to an address: one without quoted local part, list, group, route or comment.
 * @see RFC 5321 §4.1.2, RFC 6531 §3.3: `Dot-string` with letters of any script
 */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && ADDRESS.test(text);
}

const server = lazy(() =>
  checkedText('an `smtps` or `smtp` URL', (value) => {
    const url = URL.parse(value);
    if (url === null || !['smtps:', 'smtp:'].includes(url.protocol) || url.hostname === '')
      return 'must be smtps://<host>, or smtp://<host>:587 for STARTTLS';
    const isBare =
      `${url.username}${url.password}${url.search}${url.hash}${url.pathname.replace('/', '')}` === '';
    return isBare ? null : 'must be host and port only: name user and password beside it';
  }),
);

const address = lazy(() =>
  checkedText('an email address', (value) =>
    isMailAddress(value) ? null : 'must be an email address such as portcullis@example.com',
  ),
);

/** Languages of mails, by tag: those of the pages. */
export const mailLanguages = ['en', 'de', 'fr', 'es', 'ja', 'zh'] as const;

export type MailLanguage = (typeof mailLanguages)[number];

/** Mails that are not requested by their recipient. */
const NOTICES = ['sign-in', 'connection', 'passkey', 'credentials', 'approval'] as const;

/** The schema of the setting `mail`. */
export const mailSchema = lazy(() =>
  z
    .strictObject({
      server: server().describe(
        'the mail server: `smtps://host`, or `smtp://host:587` with STARTTLS, which is required except on loopback',
      ),
      from: address().describe('the sender’s address; its name is that of this server'),
      user: optional(text('a user name'), 'name at the mail server', 'none'),
      password: optional(secret(), 'password at the mail server', 'none'),
      signInLinks: z
        .boolean()
        .default(false)
        .describe('whether users of accounts here can sign in by a link in a mail, instead of a password'),
      notices: list(z.enum(NOTICES))
        .default([...NOTICES])
        .describe(
          'what users are told of: a new sign-in, connection or passkey, changed credentials, a call to approve',
        ),
      language: z
        .enum(mailLanguages)
        .default('en')
        .describe('of mails that no page in another language has caused'),
    })
    .superRefine(({ server: url, user, password }, { addIssue }) => {
      if ((user === undefined) === (password === undefined)) return;
      addIssue({ code: 'custom', path: ['password'], message: `must be set together with user, for ${url}` });
    }),
);

/** The setting `mail`, validated. */
export type MailOptions = OutputOf<typeof mailSchema>;
