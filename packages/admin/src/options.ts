/** Entry point `options`: the settings `admin` and `webhooks`, and the resources that they protect; loads nothing else of the package. */
export { adminResourcesOf, adminSchema, type GivenAdminOptions } from './settings.ts';
export { type Webhook, webhooksSchema } from './webhooks/options.ts';
