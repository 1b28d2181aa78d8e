"""MemoryManager, which reads the injected variables. Not built yet: see the issue "The runtime"."""
