"""MemoryManager behind the seams of agent frameworks, one module and one extra per framework."""
