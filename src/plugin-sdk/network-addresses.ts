/** Helpers that decide which hosts and addresses a plugin may reach. */
export { type AddressRule, readAddressRule } from "../lib/address-rule.ts";
export { isPublicAddress, ownAddresses } from "../lib/public-address.ts";
