"""One file per command. Each holds one click command of the same name."""
