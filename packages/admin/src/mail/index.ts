/** Entry point `mail`: mails about audit events, by SMTP. */
export { MAIL_PROGRESS, type MailEvent } from '../operations/component-events.ts';
export { createMailer } from './mailer.ts';
export { createMailSend, MAIL_EVENTS } from './send.ts';
export { type MailLook, renderMail } from './template.ts';
