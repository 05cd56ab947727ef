/** Entry point `options`: the settings `admin`, `mail`, `sharedSignals`, `webhooks` and `eventExports`, and the resources that they protect; loads nothing else of the package. */
export { type EventExport, eventExportsSchema } from './event-exports/options.ts';
export { type GivenMailOptions, type MailOptions, mailSchema } from './mail/options.ts';
export { adminResourcesOf, adminSchema, type GivenAdminOptions } from './settings.ts';
export {
  type GivenSharedSignalsOptions,
  sharedSignalsSchema,
  transmitterResourceOf,
} from './shared-signals/options.ts';
export { type Webhook, webhooksSchema } from './webhooks/options.ts';
