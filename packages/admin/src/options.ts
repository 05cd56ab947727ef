/** Entry point `options`: the setting `admin`, and the resources that it protects; loads nothing of the API itself. */
export { adminResourcesOf, adminSchema, type GivenAdminOptions } from './settings.ts';
