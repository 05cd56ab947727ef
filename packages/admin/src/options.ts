/** Entry point `options`: the settings `admin`, `mail`, `sharedSignals`, `webhooks` and `eventExports`, and the resources that they protect; loads nothing else of the package. */
export { eventExportsSchema } from './event-exports/options.ts';
export { type MailOptions, mailSchema } from './mail/options.ts';
export { adminResourcesOf, adminSchema } from './settings.ts';
export {
  sharedSignalsSchema,
  transmitterResourceOf,
} from './shared-signals/options.ts';
export { type Webhook, webhooksSchema } from './webhooks/options.ts';
