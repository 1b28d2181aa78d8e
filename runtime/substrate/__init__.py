"""The memory and history stores an agent imports. Not built yet: see the issue "The runtime"."""
