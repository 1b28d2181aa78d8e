"""The Azure stand-in: Resource Manager and Key Vault's data plane on one plain-http address."""
