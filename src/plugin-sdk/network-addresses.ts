export { type AddressRule, readAddressRule } from "../lib/address-rule.ts";
export { isPublicAddress, ownAddresses } from "../lib/public-address.ts";
