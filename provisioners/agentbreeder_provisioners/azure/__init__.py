"""Microsoft Azure: PostgreSQL Flexible Server, Azure Managed Redis, Key Vault, inside the user's resource group."""
