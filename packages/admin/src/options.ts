/** Entry point `options`: the settings `admin`, `mail` and `webhooks`, and the resources that they protect; loads nothing else of the package. */
export { type GivenMailOptions, type MailOptions, mailSchema } from './mail/options.ts';
export { adminResourcesOf, adminSchema, type GivenAdminOptions } from './settings.ts';
export { type Webhook, webhooksSchema } from './webhooks/options.ts';
